#include <algorithm>

#include "analyzer/advise/advice.h"
#include "policy/catalog.h"

namespace tapelens::advise {
namespace {

RewrittenRun predicted(const peak::DeviceAnalysis& device, Checks& checks, const AdviceOptions& like,
                       std::string options, const policy::RewriteSelection& selection) {
  AdviceOptions wanted;
  wanted.options = like.options;
  wanted.applying = Applying{selection, options};
  RewrittenRun run{std::move(options), {}, {}};
  advise(device, checks, wanted, {}, &run.changes, &run.longest);
  return run;
}

size_t saves_without(const RewrittenRun& run) {
  size_t saves = 0;
  for (const TimelineChange& change : run.changes) saves += change.what.without.size();
  return saves;
}

}  // namespace

std::vector<RewrittenRun> rewritten_runs(const peak::DeviceAnalysis& device, Checks& checks,
                                         const AdviceOptions& wanted) {
  std::vector<RewrittenRun> runs;
  for (const policy::Preset& group : policy::kPresets) {
    policy::RewriteSelection selection;
    selection.level = group.name;
    runs.push_back(predicted(device, checks, wanted, "--apply " + selection.level, selection));
    // A level that costs time must do more than the one before it.
    if (selection.repeats_costly() && saves_without(runs.back()) <= saves_without(runs[runs.size() - 2]))
      runs.pop_back();
  }
  for (const policy::RewriteInfo& rewrite : policy::catalog()) {
    const Checks::Entry* entry = checks.find(rewrite.id);
    if (entry == nullptr || entry->check->info().rewrite_level < 0) continue;
    policy::RewriteSelection selection;
    selection.allowed.emplace_back(rewrite.id);
    runs.push_back(predicted(device, checks, wanted, "--allow " + selection.allowed[0], selection));
  }
  std::erase_if(runs, [](const RewrittenRun& run) { return run.changes.empty() && run.longest.empty(); });
  return runs;
}

}  // namespace tapelens::advise
