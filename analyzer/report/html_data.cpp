// The data of the HTML page as JSON, only for html/page.js. All texts are final: the page shows them unchanged.
#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <unordered_map>
#include <utility>

#include "analyzer/report/advice_text.h"
#include "analyzer/report/categories.h"
#include "analyzer/report/findings_text.h"
#include "analyzer/report/fitting.h"
#include "analyzer/report/html.h"
#include "analyzer/report/next_commands.h"
#include "analyzer/report/sentences.h"
#include "analyzer/text/escape.h"
#include "analyzer/text/format.h"

namespace tapelens::report {

using text::bytes_text;
using text::fit;
using text::Json;
using text::plural;
using text::printable;

namespace {

using advise::Advice;
using advise::Entry;
using advise::Finding;

constexpr size_t kMostRows = 200;       // rows of a table
constexpr size_t kMostRemarks = 40;     // losses, notes, failed checks
constexpr unsigned kSentence = 1000;    // columns of a sentence or a command
constexpr size_t kMostPatchLines = 80;  // lines of a patch

std::string shown(std::string_view text, unsigned columns = kSentence) { return fit(printable(text), columns); }

// A table of names without duplicates.
class Strings {
 public:
  explicit Strings(unsigned columns) : columns_(columns) { of(""); }

  size_t of(const std::string& text) {
    const auto [at, is_new] = places_.try_emplace(text, texts_.size());
    if (is_new) texts_.push_back(shown(text, columns_));
    return at->second;
  }
  Json take() { return std::move(texts_); }

 private:
  unsigned columns_;
  std::unordered_map<std::string, size_t> places_;
  Json texts_ = Json::array();
};

// The first `most` elements of a list. A separate key has the number of the others.
template <class Of, class Make>
Json first_of(const Of& all, size_t most, Make make) {
  Json out = Json::array();
  for (size_t i = 0; i < std::min(all.size(), most); ++i) out.push_back(make(all[i]));
  return out;
}

size_t more_than(size_t all, size_t most) { return all > most ? all - most : 0; }

std::string color_text(uint32_t color) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "#%06x", color);
  return text.data();
}

Json roles_json(const Report& r) {
  Json roles = Json::array();
  for (size_t i = 0; i < peak::kHolderKinds; ++i) {
    const auto kind = static_cast<peak::HolderKind>(i);
    const auto of = std::ranges::find(r.peak.by_category, kind, &peak::Category::kind);
    const bool is_there = of != r.peak.by_category.end();
    roles.push_back({{"name", category_name(kind)},
                     {"label", label(kind)},
                     {"light", color_text(kRolesOnLight[i])},
                     {"dark", color_text(kRolesOnDark[i])},
                     {"bytes", is_there ? of->bytes.value : 0},
                     {"allocations", is_there ? of->allocations : 0}});
  }
  return roles;
}

Json curve_json(const Overview& overview) {
  Json times = Json::array(), held = Json::array();
  for (const Overview::Point& point : overview.points) times.push_back(point.time.ns);
  for (const uint8_t role : overview.stacked) {
    Json bytes = Json::array();
    for (const Overview::Point& point : overview.points) bytes.push_back(point.bytes[role]);
    held.push_back({{"role", role}, {"bytes", std::move(bytes)}});
  }
  const bool is_every_event = overview.points.size() == overview.events;
  Json numbers = Json::array(), pauses = Json::array();
  if (!is_every_event) {
    for (const Overview::Point& point : overview.points) numbers.push_back(point.number);
  }
  for (const peak::Interval& pause : overview.pauses.all) pauses.push_back({pause.begin.ns, pause.end.ns});
  return {{"times", std::move(times)},
          {"numbers", std::move(numbers)},  // event numbers; if empty: 1, 2, 3, ...
          {"pauses", {{"narrow", overview.pauses.narrow}, {"all", std::move(pauses)}}},
          {"held", std::move(held)},
          {"events", overview.events},
          {"is_every_event", is_every_event}};
}

// The allocations alive at the moment, block by block, and the rest of each role.
class Blocks {
 public:
  Blocks(const Report& r, size_t most, Strings& strings) {
    std::array<peak::Category, peak::kHolderKinds> rest{};
    for (const peak::Category& category : r.peak.by_category) rest[static_cast<size_t>(category.kind)] = category;
    for (size_t i = 0; i < std::min(r.peak.allocations.size(), most); ++i) {
      const Allocation& a = r.peak.allocations[i];
      place_[a.id] = i;
      peak::Category& of = rest[static_cast<size_t>(a.category)];
      of.bytes = of.bytes - a.bytes;
      --of.allocations;
      blocks_.push_back({a.bytes.value, static_cast<int>(a.category), strings.of(holder_text(main_holder(a))),
                         strings.of(a.module), strings.of(a.op), strings.of(a.source), strings.of(a.layout),
                         strings.of(since_text(r, a.step)), strings.of(holders_text(a))});
    }
    for (size_t role = 0; role < rest.size(); ++role) {
      if (rest[role].allocations == 0) continue;
      smaller_.push_back({{"role", role}, {"allocations", rest[role].allocations}, {"bytes", rest[role].bytes.value}});
    }
  }

  // The indices of blocks, each as the distance to the index before.
  Json places(const std::vector<uint32_t>& ids) const {
    std::set<size_t> sorted;
    for (const uint32_t id : ids) {
      if (const auto at = place_.find(id); at != place_.end()) sorted.insert(at->second);
    }
    Json out = Json::array();
    size_t before = 0;
    for (const size_t place : sorted) out.push_back(place - std::exchange(before, place));
    return out;
  }
  Json take() { return std::move(blocks_); }
  Json take_smaller() { return std::move(smaller_); }

 private:
  std::unordered_map<uint32_t, size_t> place_;  // by allocation
  Json blocks_ = Json::array(), smaller_ = Json::array();
};

Json what_if_json(const FixedTimeline& what_if, const Blocks& blocks) {
  // [number of points to skip, bytes by which the curve is lower from there on, ...]
  Json lower = Json::array();
  int64_t now = 0;
  size_t at = 0;
  for (size_t i = 0; i < what_if.lower.size(); ++i) {
    if (what_if.lower[i] == now) continue;
    lower.push_back(i - std::exchange(at, i));
    lower.push_back(now = what_if.lower[i]);
  }
  return {{"peak", what_if.peak.value},
          {"time", what_if.when.ns},
          {"freed", what_if.freed.size()},
          {"freed_bytes", what_if.freed_bytes.value},
          {"blocks", blocks.places(what_if.freed)},
          {"lower", std::move(lower)}};
}

// One string for each line. The last string has the number of omitted lines, if any.
Json patch_json(const std::string& patch) {
  Json lines = Json::array();
  size_t more = 0;
  for (size_t at = 0; at < patch.size();) {
    const size_t end = std::min(patch.find('\n', at), patch.size());
    if (lines.size() < kMostPatchLines) {
      lines.push_back(shown(std::string_view(patch).substr(at, end - at), 200));
    } else {
      ++more;
    }
    at = end + 1;
  }
  if (more > 0) lines.push_back("... " + plural(more, "more line", "more lines"));
  return lines;
}

Json finding_json(const Finding& f) {
  return {{"title", shown(f.title)},
          {"check", shown(f.check)},
          {"id", f.id},
          {"severity", severity_name(f.severity)},
          {"proved", f.is_proved},
          {"bytes", f.bytes.value},
          {"times", times_text(f)},
          {"effect", effect_text(f)},
          {"source", shown(source_text(f))},
          {"place", shown(place_text(f))},
          {"statement", shown(f.statement)},
          {"message", shown(f.message)},
          {"fix", shown(f.fix.text)},
          {"patch", patch_json(unified_diff(f.fix.edits))},
          {"notes", first_of(f.notes, kMostRemarks, [](const std::string& note) { return shown(note); })},
          {"evidence", first_of(f.evidence, 8, [](const advise::Evidence& e) { return shown(evidence_text(e)); })}};
}

Json advice_json_of(const Report& r, const PageLimits& limits, const Blocks& blocks) {
  const Advice& advice = *r.advice;
  const Overview& overview = *r.overview;
  Json what_ifs = Json::array(), entries = Json::array(), findings = Json::array();
  // Null: the page does not contain it.
  const auto what_if = [&](const std::vector<FixedTimeline>& all, size_t at) -> Json {
    if (at >= all.size() || what_ifs.size() >= limits.what_ifs) return nullptr;
    what_ifs.push_back(what_if_json(all[at], blocks));
    return what_ifs.size() - 1;
  };
  Json all = nullptr;
  if (overview.all && limits.what_ifs > 0) {
    what_ifs.push_back(what_if_json(*overview.all, blocks));
    all = 0;
  }
  // Entries come first, because the user reads them first and the page has a limit.
  const size_t shown_entries = std::min(advice.entries.size(), limits.findings);
  std::vector<Json> of_finding(advice.findings.size());
  for (size_t i = 0; i < shown_entries; ++i) {
    const Entry& entry = advice.entries[i];
    Json places = Json::array();
    for (const uint32_t at : entry.findings) {
      if (at < limits.findings) places.push_back(at);
    }
    Json one =
        entry.findings.size() == 1 ? what_if(overview.findings, entry.findings.front()) : what_if(overview.entries, i);
    if (entry.findings.size() == 1) of_finding[entry.findings.front()] = one;
    const bool is_automatic = entry.kind == Entry::Kind::automatic;
    entries.push_back({{"section", section_title(entry)},
                       {"line", is_automatic ? "" : shown(line_text(advice, advice.findings[entry.findings.front()]))},
                       {"title", shown(entry_title(advice, entry))},
                       {"peak_after", bytes_text(entry.peak_after)},
                       {"change", change_text(advice, entry)},
                       {"lowers", entry.change() > Bytes{}},
                       {"alone", entry.kind == Entry::Kind::trade},
                       {"small", entry.is_small},
                       {"command", is_automatic ? Json(shown(run_command(r, entry))) : Json(nullptr)},
                       {"more", entry.findings.size() - places.size()},
                       {"findings", std::move(places)},
                       {"what_if", std::move(one)}});
  }
  for (size_t i = 0; i < std::min(advice.findings.size(), limits.findings); ++i) {
    Json one = finding_json(advice.findings[i]);
    one["what_if"] = of_finding[i].is_null() ? what_if(overview.findings, i) : std::move(of_finding[i]);
    findings.push_back(std::move(one));
  }
  const auto remaining = [&](const advise::Remaining& left) {
    return Json{{"bytes", left.bytes.value},
                {"text", shown(remaining_text(left))},
                {"remedy", shown(remedy_text(left, advice.in_use))}};
  };
  return {{"checks", advice.checks.size()},
          {"outlook", outlook_text(advice)},
          {"call", shown(call_text(advice))},
          {"fixed", fixed_text(advice)},
          {"peak_before", advice.peak_before.value},
          {"peak_after_all", advice.peak_after_all.value},
          {"all", std::move(all)},
          {"entries", std::move(entries)},
          {"entries_left_out", advice.entries.size() - shown_entries},
          {"findings", std::move(findings)},
          {"findings_left_out", more_than(advice.findings.size(), limits.findings)},
          {"what_ifs", std::move(what_ifs)},
          {"remaining", first_of(advice.left, kMostRemarks, remaining)},
          {"refused", first_of(advice.refused, kMostRemarks, [](const std::string& why) { return shown(why); })},
          {"refused_left_out", more_than(advice.refused.size(), kMostRemarks)}};
}

// The failed request, the memory at that time, and the changes with which it would have found memory.
Json failure_json(const Report& r) {
  if (!r.failure) return nullptr;
  const Failure& failure = *r.failure;
  const auto holder = [](const advise::Remaining& left) {
    return Json{{"bytes", left.bytes.value}, {"text", shown(remaining_text(left))}};
  };
  const auto command = [](const std::string& text) { return shown(text); };
  Json ways = Json::array(), commands = Json::array();
  Json fits = Json::array();
  std::string rest;
  if (r.advice && r.advice->allocator && r.advice->allocator->fits) {
    const advise::Fits& of = *r.advice->allocator->fits;
    fits = fits_texts(of);
    rest = unknown_rest_text(of);
    for (const advise::Way& way : of.ways) {
      ways.push_back({{"text", shown(way_text(r, way))},
                      {"reserved", bytes_text(way.reserved_peak) + " reserved at most" +
                                       (way.rewrites.empty() ? "" : ", as predicted")},
                      {"commands", first_of(way_commands(r, way), kMostRemarks, command)}});
    }
    if (const auto of_whole = whole_run_commands(r, of); !of_whole.empty()) {
      commands.push_back({{"command", shown(of_whole.front())},
                          {"why", "a recording of the whole run, on a simulated GPU with more memory"}});
      commands.push_back({{"command", shown(of_whole.back())}, {"why", "the changes that make the whole run fit"}});
    }
    if (const std::string run = run_fit_command(r, of); !run.empty()) {
      commands.push_back(
          {{"command", shown(run)}, {"why", "the unchanged program in that memory, with the same bits"}});
    }
  }
  for (const auto& [one, why] : failure_commands(r)) commands.push_back({{"command", shown(one)}, {"why", why}});
  return {{"title", failure_title(failure)},
          {"text", shown(failure_text(failure))},
          {"time", failure.request.time.ns},
          {"alive", failure.alive ? Json(failure.alive->value) : Json(nullptr)},
          {"held_by", first_of(failure.held_by, kMostRemarks, holder)},
          {"fits", std::move(fits)},
          {"ways", std::move(ways)},
          {"rest", rest},
          {"commands", std::move(commands)}};
}

// All steps, or the first and the last of them.
Json steps_json(const std::vector<Step>& steps) {
  Json rows = Json::array();
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps.size() > kMostRows && i >= kMostRows / 2 && i < steps.size() - kMostRows / 2) continue;
    const Step& s = steps[i];
    rows.push_back({{"index", s.index},
                    {"begin", s.begin.ns},
                    {"end", s.end.ns},
                    {"begin_live", s.begin_live.value},
                    {"peak", s.peak.value},
                    {"allocations", s.allocations},
                    {"allocated", s.allocated.value},
                    {"complete", s.complete}});
  }
  return rows;
}

Json processes_json(const Report& r) {
  Json rows = Json::array();
  for (const ProcessFacts& process : r.processes) {
    for (const DeviceFacts& device : process.devices) {
      rows.push_back({{"pid", process.pid},
                      {"rank", process.rank >= 0 ? Json(process.rank) : Json(nullptr)},
                      {"device", shown(device.device, 40)},
                      {"peak", device.peak.value},
                      {"time", device.peak_time.ns},
                      {"allocations", device.allocations},
                      {"chosen", process.pid == r.peak.pid && device.device == r.peak.device}});
    }
  }
  return rows;
}

Json remarks_json(const Report& r) {
  Json remarks = Json::array();
  const auto add = [&](const std::string& text, bool is_warning) {
    if (!text.empty()) remarks.push_back({{"text", shown(text)}, {"warning", is_warning}});
  };
  if (r.peak.reserved) add(reserved_text(*r.peak.reserved), false);
  add(simulated_text(r.recording), true);
  add(imported_text(r.recording), true);
  add(estimates_text(r), true);
  add(value_reads_text(r), true);
  add(hidden_text(r.processes), true);
  add(growth_text(r), true);
  add(host_memory_text(r), true);
  add(variables_text(r), false);
  for (const std::string& sentence : external_sentences(r)) add(sentence, false);
  for (size_t i = 0; i < std::min(r.recording.lost.size(), kMostRemarks); ++i) {
    const Lost& lost = r.recording.lost[i];
    add((lost.is_data ? "This recording is not complete: " : "") + lost.what, lost.is_data);
  }
  if (const size_t more = more_than(r.recording.lost.size(), kMostRemarks); more > 0) {
    add(plural(more, "more kind of loss", "more kinds of loss") + " in --format json", true);
  }
  return remarks;
}

Json commands_json(const Report& r) {
  Json rows = Json::array();
  const auto add = [&](const std::string& command, const std::string& why) {
    rows.push_back({{"command", shown(command)}, {"why", why}});
  };
  if (r.advice) {
    for (const NextCommand& next : next_commands(r)) add(next.command, next.why);
    add("tapelens advise " + r.recording.file + same_memory(r) + " --all", "every finding with its evidence");
  }
  add("tapelens view " + r.recording.file, "the same in a window, with every event");
  return rows;
}

// The columns cover the kinds of all tables.
Json modules_data(const Report& r) {
  const std::vector<peak::HolderKind> kinds = columns_of(r.modules);
  Json columns = Json::array(), tables = Json::array();
  for (const peak::HolderKind kind : kinds) columns.push_back(heading(kind));
  for (const ModuleTable& table : r.modules) {
    const ModuleLines lines = lines_of(table, kMostRows);
    const auto row = [&](const ModuleLines::Line& one) {
      Json bytes = Json::array();
      for (const peak::HolderKind kind : kinds) bytes.push_back(one.row.by_kind[static_cast<size_t>(kind)].value);
      return Json{
          {"module", shown(name_text(one, kSentence))}, {"all", one.row.bytes.value}, {"bytes", std::move(bytes)}};
    };
    tables.push_back({{"title", title_text(table)},
                      {"heading", shown(module_heading(lines))},
                      {"rows", first_of(lines.lines, kMostRows, row)},
                      {"rows_left_out", lines.rest.modules}});
  }
  return {{"columns", std::move(columns)}, {"tables", std::move(tables)}};
}

}  // namespace

Json page_data(const Report& r, const PageLimits& limits, std::string_view version) {
  const Overview& overview = *r.overview;
  Strings strings(limits.columns);
  Blocks blocks(r, limits.blocks, strings);
  const auto line = [&](const peak::AllocationGroup& g) {
    return Json{{"text", shown(g.key, limits.columns)}, {"bytes", g.bytes.value}, {"allocations", g.allocations}};
  };
  Json processes = processes_json(r);
  const size_t more_processes = more_than(processes.size(), kMostRows);
  if (more_processes > 0) processes.erase(processes.begin() + kMostRows, processes.end());
  Json out = {{"version", version},
              {"title", shown(title_text(r))},
              {"when", when_text(r)},
              {"run", shown(run_text(r))},
              {"is_peak", r.options.at.kind == At::Kind::peak},
              {"by", by_name(r.options.by)},
              {"peak", {{"bytes", r.peak.bytes.value}, {"time", r.peak.time.ns}}},
              {"duration", r.recording.duration.ns},
              {"remarks", remarks_json(r)},
              {"failure", failure_json(r)},
              {"roles", roles_json(r)},
              {"curve", curve_json(overview)},
              {"blocks", blocks.take()},
              {"smaller", blocks.take_smaller()},
              {"lines", first_of(overview.lines, kMostRows, line)},
              {"lines_left_out", more_than(overview.lines.size(), kMostRows)},
              {"modules", modules_data(r)},
              {"steps", steps_json(r.steps)},
              {"steps_left_out", more_than(r.steps.size(), kMostRows)},
              {"processes", std::move(processes)},
              {"processes_left_out", more_processes},
              {"commands", commands_json(r)},
              {"fit", fit_data(r)},
              {"advice", r.advice ? advice_json_of(r, limits, blocks) : Json(nullptr)}};
  out["strings"] = strings.take();
  return out;
}

}  // namespace tapelens::report
