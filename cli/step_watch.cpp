#include "cli/step_watch.h"

#include <map>
#include <vector>

#include "cli/spool_folder.h"
#include "trace/spool_reader.h"

namespace tapelens::cli {
namespace {

// Of the optimizer that stepped first, as profiler/observe/steps.h counts them.
uint64_t steps_in_spool(const std::string& spool) {
  const auto reader = trace::SpoolReader::open(spool);
  if (!reader) return 0;
  std::map<size_t, std::vector<uint32_t>> open;  // by lane: names of the optimizers that are stepping
  uint32_t first = 0;
  uint64_t steps = 0;
  reader->for_each_event(
      [&](const trace::RecordHeader* record, size_t lane, uint64_t) {
        if (record->kind == trace::RecordKind::optimizer_begin) open[lane].push_back(record->id);
        if (record->kind != trace::RecordKind::optimizer_end || open[lane].empty()) return;
        if (first == 0) first = open[lane].back();
        steps += open[lane].back() == first ? 1 : 0;
        open[lane].pop_back();
      },
      [&](size_t lane) { open[lane].clear(); });
  return steps;
}

}  // namespace

bool StepWatch::is_enough() {
  const Clock::time_point now = Clock::now();
  is_late_ = now - begin_ >= limit_;
  if (is_late_ || steps_ == 0) return is_late_;
  size_t others = 0;
  for (const std::string& spool : spools_in(folder_)) {
    if (done_.contains(spool) || ended_.contains(spool)) continue;
    switch (state_of(spool)) {
      case trace::SpoolState::recording:
        ++others;
        break;
      case trace::SpoolState::finished:
        // One that ends by itself is let end: its exit code is wanted.
        (steps_in_spool(spool) >= steps_ ? done_ : ended_).insert(spool);
        break;
      case trace::SpoolState::replaced:
        break;
    }
  }
  if (done_.empty()) return false;
  if (!first_) first_ = now;
  return (others == 0 && ended_.empty()) || now - *first_ >= *first_ - begin_;
}

}  // namespace tapelens::cli
