#include "cli/step_watch.h"

#include "cli/spool_folder.h"
#include "trace/spool_reader.h"
#include "trace/step_borders.h"

namespace tapelens::cli {
namespace {

uint64_t steps_in_spool(const std::string& spool) {
  const auto reader = trace::SpoolReader::open(spool);
  if (!reader) return 0;
  trace::StepBorders borders(trace::program_step_of(*reader));
  uint64_t steps = 0;
  reader->for_each_event(
      [&](const trace::RecordHeader* record, size_t lane, uint64_t) {
        const bool is_border = borders.event(record, lane);
        if (borders.starts_anew()) steps = 0;
        steps += is_border ? 1 : 0;
      },
      [&](size_t lane) { borders.gap(lane); });
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
        // Waits for a process that is ending by itself, because its exit code is needed.
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
