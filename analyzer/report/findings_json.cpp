// Findings as JSON: docs/report.schema.json describes it, docs/advise.md explains it.

#include "analyzer/report/advice_text.h"
#include "analyzer/report/fitting.h"
#include "analyzer/report/json.h"
#include "analyzer/report/next_commands.h"

namespace tapelens::report {

using text::dumped;
using text::Json;
using text::kSchemaVersion;

namespace {

// Null: to the end of the recording.
Json end_json(Time end) { return end == model::kNever ? Json(nullptr) : Json(end.ns); }

Json evidence_json(const advise::Evidence& e) {
  return {{"bytes", e.bytes.value}, {"count", e.count},       {"node", e.node},
          {"field", e.field},       {"operator", e.op},       {"layout", e.layout},
          {"kept_by", e.kept_by},   {"begin_ns", e.begin.ns}, {"end_ns", end_json(e.end)}};
}

Json finding_json(const advise::Finding& f) {
  Json evidence = Json::array();
  for (const advise::Evidence& e : f.evidence) evidence.push_back(evidence_json(e));
  return {{"id", f.id},
          {"check", f.check},
          {"check_version", f.check_version},
          {"severity", severity_name(f.severity)},
          {"confidence", f.is_proved ? "proved" : "likely"},
          {"alternative", f.is_alternative},
          {"title", f.title},
          {"message", f.message},
          {"bytes", f.bytes.value},
          {"occurrences", f.occurrences},
          {"sites", f.sites},
          {"step_count", f.step_count},
          {"steps", f.steps},
          {"peak_before_bytes", f.peak_before.value},
          {"peak_after_bytes", f.peak_after.value},
          {"retained_at_peak_with_all_bytes", f.retained_at_peak_with_all.value},
          {"in_peak_after_all", f.is_in_all},
          {"growth_bytes", f.growth.value},
          {"node", f.node},
          {"field", f.field},
          {"operator", f.op},
          {"module", f.module},
          {"source", f.source.file.empty() ? Json(nullptr) : frame_json(f.source)},
          {"library", f.library.file.empty() ? Json(nullptr) : frame_json(f.library)},
          {"statement", f.statement},
          {"stack", stack_json(f.stack)},
          {"evidence", std::move(evidence)},
          {"evidence_left_out", f.evidence_left_out},
          {"notes", f.notes},
          {"fix",
           {{"kind", fix_name(f.fix.kind)},
            {"rewrite", f.fix.rewrite},
            {"patch", unified_diff(f.fix.edits)},
            {"text", f.fix.text}}}};
}

const char* kind_name(advise::Entry::Kind kind) {
  using Kind = advise::Entry::Kind;
  switch (kind) {
    case Kind::error:
      return "error";
    case Kind::code:
      return "code";
    case Kind::consider:
      return "consider";
    case Kind::automatic:
      return "automatic";
    case Kind::trade:
      break;
  }
  return "trade";
}

Json entry_json(const advise::Entry& entry, const Report& r) {
  Json findings = Json::array();
  for (const uint32_t place : entry.findings) findings.push_back(r.advice->findings[place].id);
  const bool is_automatic = entry.kind == advise::Entry::Kind::automatic;
  return {{"kind", kind_name(entry.kind)},
          {"findings", std::move(findings)},
          {"peak_before_bytes", entry.peak_before.value},
          {"peak_after_bytes", entry.peak_after.value},
          {"small", entry.is_small},
          {"command", is_automatic ? Json(run_command(r, entry)) : Json(nullptr)}};
}

Json remaining_json(const advise::Remaining& left, const peak::InUse& in_use) {
  return {{"name", category_name(left.kind)},
          {"bytes", left.bytes.value},
          {"allocations", left.allocations},
          {"largest", left.largest},
          {"largest_bytes", left.largest_bytes.value},
          {"module", left.module},
          {"source", left.source.file.empty() ? Json(nullptr) : frame_json(left.source)},
          {"library", left.library.file.empty() ? Json(nullptr) : frame_json(left.library)},
          {"remedy", remedy_text(left, in_use)}};
}

Json way_json(const advise::Way& way, const Report& r) {
  Json findings = Json::array();
  for (const size_t place : way.findings) findings.push_back(r.advice->findings[place].id);
  return {{"findings", std::move(findings)},
          {"settings", way.settings.empty() ? Json(nullptr) : Json(way.settings)},
          {"rewrites", way.rewrites.empty() ? Json(nullptr) : Json(way.rewrites)},
          {"commands", way_commands(r, way)},
          {"reserved_peak_bytes", way.reserved_peak.value}};
}

Json fits_json(const advise::Fits& fits, const Report& r) {
  Json ways = Json::array();
  for (const advise::Way& way : fits.ways) ways.push_back(way_json(way, r));
  Json failed = nullptr;
  if (const auto& first = fits.failed) {
    failed = {{"time_ns", first->time.ns}, {"bytes", first->bytes.value}, {"reserved_bytes", first->reserved.value}};
  }
  const std::string run_fit = run_fit_command(r, fits);
  return {{"card_bytes", fits.card.value},
          {"failed", std::move(failed)},
          {"ways", std::move(ways)},
          {"ran_out_of_memory", fits.ends_out_of_memory},
          {"whole_steps_before", fits.ends_out_of_memory ? Json(fits.steps_before) : Json(nullptr)},
          {"whole_run_commands", whole_run_commands(r, fits)},
          {"run_fit_command", run_fit.empty() ? Json(nullptr) : Json(run_fit)}};
}

Json allocator_json(const Report& r) {
  const auto& allocator = r.advice->allocator;
  if (!allocator) return nullptr;
  Json tried = Json::array();
  for (const advise::SettingTried& one : allocator->tried) {
    tried.push_back(
        {{"settings", one.settings}, {"reserved_peak_bytes", one.reserved_peak.value}, {"served", one.is_served}});
  }
  const bool is_known = allocator->is_known();
  return {{"settings", allocator->settings},
          {"replay_differs", is_known ? Json(nullptr) : Json(allocator->differs)},
          {"compared_events", allocator->compared},
          {"card_bytes", allocator->card ? Json(allocator->card->value) : Json(nullptr)},
          {"reserved_peak_before_bytes", allocator->reserved_before.value},
          {"reserved_peak_after_all_bytes", is_known ? Json(allocator->reserved_after_all.value) : Json(nullptr)},
          {"tried", std::move(tried)},
          {"fits", allocator->fits ? fits_json(*allocator->fits, r) : Json(nullptr)}};
}

}  // namespace

void add_advice(Json& object, const Report& r) {
  const advise::Advice& advice = *r.advice;
  Json findings = Json::array();
  for (const advise::Finding& finding : advice.findings) findings.push_back(finding_json(finding));
  Json entries = Json::array(), left = Json::array(), next = Json::array();
  for (const advise::Entry& entry : advice.entries) entries.push_back(entry_json(entry, r));
  for (const advise::Remaining& one : advice.left) left.push_back(remaining_json(one, advice.in_use));
  for (const NextCommand& one : next_commands(r)) next.push_back(one.command);
  object["advice"] = {{"peak_before_bytes", advice.peak_before.value},
                      {"peak_after_all_bytes", advice.peak_after_all.value},
                      {"peak_after_all_time_ns", advice.peak_after_all_time.ns},
                      {"peak_after_all_by_category", std::move(left)},
                      {"entries", std::move(entries)},
                      {"next", std::move(next)},
                      {"checks", advice.checks},
                      {"not_looked", advice.not_looked},
                      {"refused", advice.refused},
                      {"changed_sources", advice.changed}};
  if (const auto& predicted = advice.predicted) {
    object["advice"]["plan"] = {{"applied", predicted->name},
                                {"peak_before_bytes", predicted->peak_before.value},
                                {"peak_after_bytes", predicted->peak_after.value},
                                {"peak_after_at_most_bytes", predicted->peak_at_most.value},
                                {"saved_peak_before_bytes", predicted->saved_before.value},
                                {"saved_peak_after_bytes", predicted->saved_after.value},
                                {"saved_peak_after_at_most_bytes", predicted->saved_at_most.value}};
  }
  object["advice"]["allocator"] = allocator_json(r);
  object["findings"] = std::move(findings);
}

std::string advice_json(const Report& report) {
  Json all = {{"schema_version", kSchemaVersion},
              {"recording", recording_json(report.recording)},
              {"process", report.peak.pid},
              {"device", report.peak.device}};
  add_advice(all, report);
  return dumped(all);
}

}  // namespace tapelens::report
