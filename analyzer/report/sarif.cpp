// Findings as SARIF 2.1.0 for GitHub code scanning: one rule for each check, one result for each finding, each at a
// file of the repository.

#include <algorithm>

#include "analyzer/report/findings_text.h"
#include "analyzer/report/formats.h"
#include "analyzer/report/json.h"
#include "analyzer/report/sentences.h"
#include "analyzer/text/format.h"
#include "analyzer/text/json.h"

namespace tapelens::report {

using check::SourceTree;
using text::bytes_text;
using text::Json;
using text::percent_encoded;
using text::sarif_document;
using text::sarif_location;
using text::sarif_notification;

namespace {

using advise::Finding;

// The repository's name of a file, as a URI; empty if the file is outside the repository.
std::string uri_of(const std::string& file, const SourceTree& tree) {
  return percent_encoded(check::in_repository(file, tree));
}

// The finding's location: the frame that reports show, else the innermost frame in the repository; null if none is.
Json location_of(const Finding& f, const SourceTree& tree) {
  std::vector<const Frame*> frames{&f.source};
  for (const Frame& frame : f.stack) frames.push_back(&frame);
  for (const Frame* frame : frames) {
    if (const std::string uri = uri_of(frame->file, tree); !uri.empty()) {
      return sarif_location(uri, frame->line, frame->function);
    }
  }
  return nullptr;
}

// The location of findings about the whole run: the outermost file of the repository in any stack, which is the program
// itself. GitHub rejects a file that has a result without a location.
Json location_of_program(const Report& report, const SourceTree& tree) {
  const auto outermost = [&](const std::vector<Frame>& stack) -> std::string {
    for (auto frame = stack.rbegin(); frame != stack.rend(); ++frame) {
      if (std::string uri = uri_of(frame->file, tree); !uri.empty()) return uri;
    }
    return "";
  };
  for (const Finding& f : report.advice->findings) {
    if (const std::string uri = outermost(f.stack); !uri.empty()) return sarif_location(uri, 1, "");
  }
  for (const Allocation& allocation : report.peak.allocations) {
    if (const std::string uri = outermost(allocation.stack); !uri.empty()) return sarif_location(uri, 1, "");
  }
  return nullptr;
}

const char* level_of(check::Severity severity) {
  switch (severity) {
    case check::Severity::error:
      return "error";
    case check::Severity::warning:
      return "warning";
    case check::Severity::info:
      break;
  }
  return "note";
}

std::string message_of(const Finding& f) {
  std::string text = f.title + ". " + f.message + " " + bytes_text(f.bytes) + " " + times_text(f) + "; " +
                     effect_text(f) + ". " + f.fix.text;
  if (!f.is_proved) text += " The recording cannot prove this: check before you change anything.";
  return text;
}

// Null: the finding has no patch.
Json fixes_of(const Finding& f) {
  if (f.fix.edits.empty()) return nullptr;
  Json changes = Json::array();
  for (const check::FileEdit& file : f.fix.edits) {
    Json replacements = Json::array();
    for (const check::Edit& edit : file.edits) {
      std::string inserted;
      for (const std::string& line : edit.added) inserted += line;
      replacements.push_back(
          {{"deletedRegion",
            {{"startLine", edit.first + 1}, {"startColumn", 1}, {"endLine", edit.end() + 1}, {"endColumn", 1}}},
           {"insertedContent", {{"text", inserted}}}});
    }
    changes.push_back({{"artifactLocation", {{"uri", percent_encoded(file.path)}, {"uriBaseId", "%SRCROOT%"}}},
                       {"replacements", std::move(replacements)}});
  }
  return Json::array({{{"description", {{"text", f.fix.text}}}, {"artifactChanges", std::move(changes)}}});
}

Json rule_json(const Rule& rule) {
  Json out = {{"id", rule.id},
              {"name", rule.id},
              {"shortDescription", {{"text", rule.title}}},
              {"fullDescription", {{"text", rule.help}}},
              {"help", {{"text", rule.help}}},
              {"defaultConfiguration", {{"level", "warning"}}},
              {"properties", {{"tags", {"memory", "performance"}}}}};
  if (!rule.page.empty()) out["help"]["markdown"] = rule.page;
  return out;
}

}  // namespace

std::string sarif(const Report& report, const std::vector<Rule>& rules, const SourceTree& tree,
                  std::string_view version) {
  const Json program = location_of_program(report, tree);
  Json results = Json::array(), notifications = Json::array(), rules_out = Json::array();
  for (const Rule& rule : rules) rules_out.push_back(rule_json(rule));
  for (const Finding& f : report.advice->findings) {
    Json where = location_of(f, tree);
    if (where.is_null()) where = program;
    if (where.is_null()) {
      // The repository has no file of the program, so the finding becomes a notification without a line.
      notifications.push_back(sarif_notification(f.check + ": " + message_of(f), level_of(f.severity)));
      continue;
    }
    Json result = {{"ruleId", f.check}};
    const auto rule = std::ranges::find(rules, f.check, &Rule::id);
    if (rule != rules.end()) result["ruleIndex"] = rule - rules.begin();
    result["level"] = level_of(f.severity);
    result["message"] = {{"text", message_of(f)}};
    result["locations"] = Json::array({where});
    // GitHub compares the first fingerprint. The second is Tapelens's own id.
    result["partialFingerprints"] = {{"primaryLocationLineHash", f.id + ":1"}, {"tapelensFinding/v1", f.id}};
    result["properties"] = {{"bytes", f.bytes.value},
                            {"peakBeforeBytes", f.peak_before.value},
                            {"peakAfterBytes", f.peak_after.value},
                            {"occurrences", f.occurrences},
                            {"module", f.module}};
    if (Json fixes = fixes_of(f); !fixes.is_null()) result["fixes"] = std::move(fixes);
    results.push_back(std::move(result));
  }
  for (const std::string& said :
       {simulated_text(report.recording), imported_text(report.recording), hidden_text(report.processes)}) {
    if (!said.empty()) notifications.push_back(sarif_notification(said, "note"));
  }
  for (const Lost& lost : report.recording.lost) {
    if (lost.is_data)
      notifications.push_back(sarif_notification("the recording is not complete: " + lost.what, "warning"));
  }
  for (const std::string& refused : report.advice->refused)
    notifications.push_back(sarif_notification(refused, "warning"));
  return sarif_document(version, std::move(rules_out), std::move(results), std::move(notifications));
}

constinit extern const Format kSarif{
    .name = "sarif",
    .advice = [](const Report& r, const Rendering& how) { return sarif(r, how.rules, how.tree, how.version); },
    .locates_by_stacks = true};

}  // namespace tapelens::report
