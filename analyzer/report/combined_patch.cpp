#include "analyzer/report/combined_patch.h"

#include <algorithm>
#include <map>
#include <utility>

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
