// The report as JSON: docs/report.schema.json describes it, docs/report.md explains it.
#include "analyzer/report/json.h"

#include "analyzer/report/formats.h"
#include "analyzer/report/report.h"
#include "analyzer/report/sections.h"
#include "analyzer/report/sentences.h"

namespace tapelens::report {

using text::dumped;
using text::Json;
using text::kSchemaVersion;

namespace {

Json maybe(int32_t rank) { return rank >= 0 ? Json(rank) : Json(nullptr); }

Json saves_json(const peak::SaveSummary& saves) {
  Json fields = Json::array();
  for (const peak::FieldTotals& field : saves.fields) {
    fields.push_back({{"field", field.field},
                      {"count", field.totals.count},
                      {"logical_bytes", field.totals.logical.value},
                      {"storage_bytes", field.totals.storage.value}});
  }
  return {{"count", saves.all.count},
          {"logical_bytes", saves.all.logical.value},
          {"storage_bytes", saves.all.storage.value},
          {"unattributed", saves.unattributed},
          {"by_field", std::move(fields)}};
}

}  // namespace

Json recording_json(const RecordingFacts& facts) {
  Json lost = Json::array();
  for (const Lost& loss : facts.lost) {
    lost.push_back({{"kind", loss.kind},
                    {"count", loss.count},
                    {"since_ns", loss.since.ns},
                    {"process", loss.pid},
                    {"message", loss.what}});
  }
  return {{"command", facts.command},
          {"torch_version", facts.torch_version},
          {"steps", facts.steps},
          {"duration_ns", facts.duration.ns},
          {"events", facts.events},
          {"file_bytes", facts.file_bytes},
          {"simulated_gpu", facts.simulated_gpu.empty() ? Json(nullptr) : Json(facts.simulated_gpu)},
          {"imported", facts.imported_from.empty() ? Json(nullptr)
                                                   : Json{{"from", facts.imported_from},
                                                          {"history", facts.imported_history},
                                                          {"older_allocations", facts.imported_older},
                                                          {"annotations_left_out", facts.imported_annotations}}},
          {"complete", facts.complete},
          {"lost", std::move(lost)}};
}

Json stack_json(const std::vector<Frame>& frames) {
  Json stack = Json::array();
  for (const Frame& frame : frames) stack.push_back(frame_json(frame));
  return stack;
}

Json frame_json(const Frame& frame) {
  return {{"file", frame.file}, {"line", frame.line}, {"function", frame.function}};
}

namespace {

Json out_of_memory_json(const std::vector<OutOfMemory>& all) {
  Json out = Json::array();
  for (const OutOfMemory& one : all) {
    out.push_back({{"device", one.device},
                   {"time_ns", one.time.ns},
                   {"bytes", one.bytes.value},
                   {"allocated_bytes", one.allocated.value},
                   {"reserved_bytes", one.reserved.value},
                   {"free_bytes", one.free ? Json(one.free->value) : Json(nullptr)},
                   {"largest_unused_bytes", one.largest_hole.value},
                   {"operator", one.op},
                   {"module", one.module},
                   {"stack", stack_json(one.stack)}});
  }
  return out;
}

Json group_json(const Reserved::Group& group) {
  return {{"holder", group.holder},
          {"module", group.module},
          {"source", group.source},
          {"allocations", group.allocations},
          {"bytes", group.bytes.value}};
}

Json left_json(const Left& left) { return {{"count", left.count}, {"bytes", left.bytes.value}}; }

Json reserved_json(const std::optional<Reserved>& reserved) {
  if (!reserved) return nullptr;
  Json segments = Json::array();
  for (const Segment& s : reserved->segments) {
    segments.push_back({{"address", s.address},
                        {"bytes", s.bytes.value},
                        {"used_bytes", s.used.value},
                        {"largest_unused_bytes", s.largest_hole.value},
                        {"blocks", s.blocks},
                        {"stream", s.stream},
                        {"graph_pool", s.graph_pool},
                        {"user_pool", s.user_pool},
                        {"expandable", s.is_expandable}});
  }
  Json holes = Json::array();
  for (const Reserved::Hole& hole : reserved->holes) {
    Json one = group_json(hole.groups.front());
    one["segments"] = hole.segments;
    one["unused_bytes"] = hole.unused.value;
    one["others"] = Json::array();
    for (size_t i = 1; i < hole.groups.size(); ++i) one["others"].push_back(group_json(hole.groups[i]));
    one["others_left_out"] = left_json(hole.groups_left_out);
    holes.push_back(std::move(one));
  }
  return {{"allocated_bytes", reserved->allocated.value},
          {"waiting_bytes", reserved->waiting.value},
          {"reserved_bytes", reserved->reserved ? Json(reserved->reserved->value) : Json(nullptr)},
          {"largest_unused_bytes", reserved->reserved ? Json(reserved->largest_hole.value) : Json(nullptr)},
          {"empty_segments_bytes", reserved->empty.value},
          {"unusable_bytes", reserved->unusable.value},
          {"pinned_by", std::move(holes)},
          {"segments", std::move(segments)}};
}

Json host_memory_json(const std::optional<HostMemory>& host) {
  if (!host) return nullptr;
  const std::string text = host_memory_text(*host);
  return {{"resident_before_bytes", host->before.value}, {"resident_peak_before_bytes", host->before_peak.value},
          {"resident_peak_bytes", host->peak.value},     {"resident_peak_is_final", host->is_final},
          {"recorded_peak_bytes", host->recorded.value}, {"difference", text.empty() ? Json(nullptr) : Json(text)}};
}

Json external_json(const std::optional<ExternalMemory>& external) {
  if (!external) return nullptr;
  Json libraries = Json::array();
  for (const peak::ExternalLibrary& one : external->libraries) {
    libraries.push_back(
        {{"library", one.library.empty() ? Json(nullptr) : Json(one.library)},
         {"bytes", one.at_peak.value},
         {"peak_bytes", one.peak.value},
         {"allocations", one.allocations},
         {"first", one.first
                       ? Json{{"operator", one.first->op}, {"module", one.first->module}, {"source", one.first->source}}
                       : Json(nullptr)}});
  }
  Json pools = nullptr;
  if (const auto& of = external->pools) {
    pools = {{"reserved_bytes", of->reserved.value},
             {"unused_bytes", of->unused.value},
             {"unused_peak_bytes", of->unused_peak.value}};
  }
  Json use = nullptr;
  if (const auto& most = external->use) {
    use = {{"time_ns", most->time.ns},
           {"total_bytes", most->total.value},
           {"used_bytes", most->used.value},
           {"reserved_bytes", most->reserved.value},
           {"outside_bytes", most->external.value},
           {"pools_unused_bytes", most->unused.value},
           {"not_accounted_bytes", most->rest().value}};
  }
  return {{"bytes", external->at_peak.value},
          {"peak_bytes", external->peak.value},
          {"peak_time_ns", external->peak_time.ns},
          {"host_peak_bytes", external->host_peak.value},
          {"unmatched_frees", external->unmatched},
          {"until_ns", external->until ? Json(external->until->ns) : Json(nullptr)},
          {"libraries", std::move(libraries)},
          {"pools", std::move(pools)},
          {"device_use", std::move(use)}};
}

Json processes_json(const std::vector<ProcessFacts>& processes) {
  Json out = Json::array();
  for (const ProcessFacts& process : processes) {
    Json devices = Json::array();
    for (const DeviceFacts& device : process.devices) {
      Json one = {{"device", device.device},
                  {"peak_bytes", device.peak.value},
                  {"peak_time_ns", device.peak_time.ns},
                  {"allocations", device.allocations},
                  {"frees", device.frees},
                  {"live_at_end_bytes", device.live_at_end.value}};
      if (const auto& blocks = device.blocks) {
        one["allocated_peak_bytes"] = blocks->allocated_peak.value;
        one["active_peak_bytes"] = blocks->active_peak.value;
        const auto& segments = blocks->segments;
        one["reserved_peak_bytes"] = segments ? Json(segments->reserved_peak.value) : Json(nullptr);
        one["segments"] = segments ? Json(segments->count) : Json(nullptr);
      }
      devices.push_back(std::move(one));
    }
    Json shardings = Json::array();
    for (const peak::Sharding& one : process.shardings) {
      shardings.push_back({{"mesh", one.mesh},
                           {"coordinate", one.coordinate.empty() ? Json(nullptr) : Json(one.coordinate)},
                           {"placements", one.placements},
                           {"bytes", one.here.value},
                           {"whole_bytes", one.all.value},
                           {"parameters", one.parameters}});
    }
    Json value_reads = Json::array();
    for (const ValueRead& read : process.value_reads) {
      Json place = frame_json(read.frame);
      place.update({{"operator", read.op}, {"count", read.count}, {"first_ns", read.first.ns}});
      value_reads.push_back(std::move(place));
    }
    Json external = nullptr;
    if (const auto& o = process.external_estimate) {
      external = {{"cuda_context_bytes", o->context.value},
                  {"nccl_communicators", o->communicators},
                  {"nccl_least_bytes", o->least_nccl.value},
                  {"nccl_most_bytes", o->most_nccl.value},
                  {"gpu_bytes", o->gpu.value}};
    }
    out.push_back({{"pid", process.pid},
                   {"parent_pid", process.parent_pid},
                   {"rank", maybe(process.rank)},
                   {"finished", process.finished},
                   {"exit_code", process.exit_code ? Json(*process.exit_code) : Json(nullptr)},
                   {"devices", std::move(devices)},
                   {"cuda_allocator", process.cuda_allocator.empty() ? Json(nullptr) : Json(process.cuda_allocator)},
                   {"cupti", process.cupti.empty() ? Json(nullptr) : Json(process.cupti)},
                   {"out_of_memory", out_of_memory_json(process.out_of_memory)},
                   {"saves", saves_json(process.saves)},
                   {"shardings", std::move(shardings)},
                   {"value_reads", std::move(value_reads)},
                   {"host_memory", host_memory_json(process.host)},
                   {"outside_estimate", std::move(external)}});
  }
  return out;
}

Json allocation_json(const Allocation& a) {
  Json holders = Json::array();
  for (const Holder& holder : a.holders) {
    Json h = {{"kind", kind_name(holder.kind)}, {"node", holder.node}, {"field", holder.field}, {"name", holder.name}};
    if (holder.kind == peak::HolderKind::save) h["saves"] = holder.saves;
    if (!holder.parameter.empty()) h["parameter"] = holder.parameter;
    holders.push_back(std::move(h));
  }
  Json block = nullptr;
  if (const auto& b = a.block) {
    block = {{"bytes", b->bytes.value},
             {"address", b->address},
             {"stream", b->stream},
             {"graph_pool", b->graph_pool},
             {"user_pool", b->user_pool}};
  }
  Json out = {{"id", a.id},
              {"bytes", a.bytes.value},
              {"block", std::move(block)},
              {"time_ns", a.time.ns},
              {"step", a.step},
              {"category", category_name(a.category)},
              {"operator", a.op},
              {"module", a.module},
              {"layout", a.layout},
              {"stack", stack_json(a.stack)},
              {"holders", std::move(holders)}};
  if (const auto& imported = a.imported)
    out["imported"] = {{"phase", imported->phase},
                       {"allocating_operator", imported->allocating},
                       {"node", imported->node},
                       {"evidence", imported->evidence}};
  return out;
}

Json peak_json(const Report& report) {
  const Peak& p = report.peak;
  Json categories = Json::array(), groups = Json::array(), allocations = Json::array();
  for (const peak::Category& c : p.by_category) {
    categories.push_back({{"name", category_name(c.kind)}, {"bytes", c.bytes.value}, {"allocations", c.allocations}});
  }
  for (const AllocationGroup& g : p.groups) {
    groups.push_back({{"key", g.key},
                      {"bytes", g.bytes.value},
                      {"allocations", g.allocations},
                      {"layout", g.layout},
                      {"source", g.source}});
  }
  for (const Allocation& a : p.allocations) allocations.push_back(allocation_json(a));
  Json variables;
  if (p.variables) {
    variables = Json::array();
    for (const Variable& v : *p.variables) {
      variables.push_back({{"name", v.name}, {"bytes", v.bytes.value}, {"allocations", v.allocations}});
    }
  }
  return {{"process", p.pid},
          {"rank", maybe(p.rank)},
          {"device", p.device},
          {"at", at_text(report.options.at)},
          {"bytes", p.bytes.value},
          {"time_ns", p.time.ns},
          {"step", p.step},
          {"phase", phase_name(p.phase)},
          {"op", p.op},
          {"source", p.source},
          {"live_allocations", p.live_allocations},
          {"reserved", reserved_json(p.reserved)},
          {"outside", external_json(p.external_memory)},
          {"by_category", std::move(categories)},
          {"by", by_name(report.options.by)},
          {"groups", std::move(groups)},
          {"groups_left_out", left_json(p.groups_left_out)},
          {"variables", std::move(variables)},
          {"allocations", std::move(allocations)},
          {"allocations_left_out", left_json(p.allocations_left_out)}};
}

}  // namespace

std::string json(const Report& report) {
  Json steps = Json::array(), ranges = Json::array();
  for (const Step& s : report.steps) {
    steps.push_back({{"index", s.index},
                     {"begin_ns", s.begin.ns},
                     {"end_ns", s.end.ns},
                     {"begin_live_bytes", s.begin_live.value},
                     {"peak_bytes", s.peak.value},
                     {"allocations", s.allocations},
                     {"allocated_bytes", s.allocated.value},
                     {"backward_allocations", s.backward_allocations},
                     {"complete", s.complete}});
  }
  for (const Range& r : report.ranges) {
    ranges.push_back({{"name", r.name},
                      {"begin_ns", r.begin.ns},
                      {"end_ns", r.end.ns},
                      {"thread", r.thread},
                      {"begin_live_bytes", r.begin_live.value},
                      {"peak_bytes", r.peak.value},
                      {"allocations", r.allocations},
                      {"allocated_bytes", r.allocated.value}});
  }
  Json all = {{"schema_version", kSchemaVersion},
              {"recording", recording_json(report.recording)},
              {"processes", processes_json(report.processes)},
              {"peak", peak_json(report)},
              {"saves", saves_json(report.saves)},
              {"steps", std::move(steps)},
              {"ranges", std::move(ranges)}};
  if (!report.modules.empty()) all["modules"] = modules_json(report.modules);
  if (report.rewritten.any()) all["rewritten"] = rewritten_json(report.rewritten, report.saved_peak);
  if (report.advice) add_advice(all, report);
  return dumped(all);
}

constinit extern const Format kJson{.name = "json",
                                    .report = [](const Report& r, const Rendering&) { return json(r); },
                                    .advice = [](const Report& r, const Rendering&) { return advice_json(r); },
                                    .rows = SIZE_MAX};

}  // namespace tapelens::report
