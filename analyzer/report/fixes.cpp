// See fixes.h. A plan lists the findings that rewrites fix; docs/advise.md explains the file.
#include "analyzer/report/fixes.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analyzer/report/findings_text.h"
#include "analyzer/report/json.h"
#include "policy/plan.h"

namespace tapelens::report {
namespace {

using check::Edit;
using check::FileEdit;
using check::FileEdits;

bool overlap(const Edit& a, const Edit& b) {
  if (a.removed == 0 && b.removed == 0) return a.first == b.first;
  const auto is_within = [](const Edit& x, const Edit& y) { return x.first >= y.first && x.first < y.end(); };
  return is_within(a, b) || is_within(b, a);
}

// Whether all edits of `patch` are compatible with `files`. Removes edits from `patch` that `files` already contains.
bool fits(FileEdits& patch, const std::map<std::string, FileEdit>& files) {
  for (FileEdit& file : patch) {
    const auto there = files.find(file.path);
    if (there == files.end()) continue;
    for (const auto& [number, line] : file.lines) {
      const auto known = there->second.lines.find(number);
      if (known != there->second.lines.end() && known->second != line) return false;
    }
    std::erase_if(file.edits, [&](const Edit& edit) {
      return std::ranges::find(there->second.edits, edit) != there->second.edits.end();
    });
    for (const Edit& edit : file.edits) {
      if (std::ranges::any_of(there->second.edits, [&](const Edit& other) { return overlap(edit, other); }))
        return false;
    }
  }
  return true;
}

}  // namespace

using text::dumped;
using text::Json;

std::string plan(const Report& report) {
  Json sites = Json::array();
  for (const advise::Finding& f : report.advice->findings) {
    if (f.fix.kind != check::FixKind::rewrite) continue;
    sites.push_back({{"finding", f.id},
                     {"rewrite", f.fix.rewrite},
                     {"check", f.check},
                     {"module", f.module},
                     {"operator", f.op},
                     {"node", f.node},
                     {"field", f.field},
                     {"source", source_text(f.innermost)},
                     {"bytes", f.bytes.value},
                     {"enabled", true}});
  }
  return dumped({{"tapelens_plan", policy::kPlanVersion},
                 {"torch", report.recording.torch_version},
                 {"command", report.recording.command},
                 {"sites", std::move(sites)}});
}

CombinedPatch combined_patch(const advise::Advice& advice) {
  CombinedPatch all;
  std::map<std::string, FileEdit> files;  // by path
  for (const advise::Finding& finding : advice.findings) {
    FileEdits patch = finding.fix.edits;
    if (!fits(patch, files)) {
      all.left_out.push_back("the patch of finding " + finding.id + " (" + finding.title +
                             ") is left out: it changes the same lines as another");
      continue;
    }
    for (FileEdit& file : patch) {
      FileEdit& there = files.try_emplace(file.path, FileEdit{file.path, {}, {}}).first->second;
      there.lines.merge(file.lines);
      there.edits.insert(there.edits.end(), file.edits.begin(), file.edits.end());
      std::ranges::stable_sort(there.edits, {}, &Edit::first);
    }
  }
  for (auto& [path, file] : files) all.files.push_back(std::move(file));
  return all;
}

}  // namespace tapelens::report
