#include "analyzer/peak/pauses.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>

namespace tapelens::peak {

namespace {

using model::Interval;
using model::Time;

constexpr int64_t kLeastPart = 4096;     // a pause is at least this part of the recording
constexpr uint64_t kEventsForEach = 16;  // the least number of events for one pause
constexpr double kShorter = 3;           // the least factor by which the drawing of a pause shortens it
constexpr double kShareOfOne = 0.03,
                 kShareOfAll = 0.3;  // the share of a picture for one pause, and at most for all of them
// Few pauses that make the rest half as wide as all pauses would are better than all of them.
constexpr double kGood = 2;

int64_t length_of(Interval interval) { return interval.end.ns - interval.begin.ns; }

// The length at which each of `count` pauses is drawn, beside the `rest` of the time.
double narrow_length(size_t count, double rest) {
  const double share = std::min(kShareOfOne * static_cast<double>(count), kShareOfAll);
  return share / (1 - share) * rest / static_cast<double>(count);
}

// Visits the times of sorted columns in order.
class Merged {
 public:
  explicit Merged(std::initializer_list<const std::vector<uint64_t>*> columns) {
    for (const auto* column : columns) at_.push_back({column, 1});  // row 0 does not count
  }
  // The column of the next time; -1 after the last.
  int next() const {
    int best = -1;
    for (size_t i = 0; i < at_.size(); ++i) {
      if (at_[i].row < at_[i].times->size() && (best < 0 || time(i) < time(static_cast<size_t>(best))))
        best = static_cast<int>(i);
    }
    return best;
  }
  uint64_t time(size_t column) const { return (*at_[column].times)[at_[column].row]; }
  size_t take(size_t column) { return at_[column].row++; }

 private:
  struct Place {
    const std::vector<uint64_t>* times;
    size_t row;
  };
  std::vector<Place> at_;
};

// Begins with a value that does not count, as a column does.
std::vector<uint64_t> step_borders(const model::Process& p) {
  std::vector<uint64_t> out{0};
  for (const auto* steps : {&p.optimizer_steps, &p.program_steps}) {
    for (const model::OptimizerStep& step : *steps) {
      out.push_back(static_cast<uint64_t>(step.when.begin.ns));
      if (step.when.end != model::kNever) out.push_back(static_cast<uint64_t>(step.when.end.ns));
    }
  }
  std::sort(out.begin() + 1, out.end());
  return out;
}

struct Quiet {
  std::vector<Interval> stretches;  // without events, at least 1/4096 of the recording
  uint64_t events = 0;
};

Quiet quiet_stretches(const model::Process& p, model::DeviceId device) {
  Quiet out;
  const int64_t whole = p.duration.ns, least = std::max<int64_t>(1, whole / kLeastPart);
  int64_t busy_until = 0;
  const auto busy = [&](int64_t begin, int64_t end) {
    if (begin - busy_until >= least) out.stretches.push_back({Time{busy_until}, Time{begin}});
    busy_until = std::max(busy_until, std::min(end, whole));
    ++out.events;
  };
  const auto end_of = [&](model::OperatorId op, int64_t begin) {
    const Time end = op ? p.operators.end[op] : Time{begin};
    return end == model::kNever ? begin : std::max(begin, end.ns);
  };
  const auto is_on_device = [&](uint32_t allocation) {
    return p.allocations.device[model::AllocationId{allocation}] == device;
  };
  size_t next_input = 1;
  const std::vector<uint64_t> steps = step_borders(p);
  enum Column : uint8_t { kAllocations, kFrees, kOperators, kSteps };
  Merged events({&p.allocations.time.raw, &p.frees.time.raw, &p.operators.begin.raw, &steps});
  for (int column = events.next(); column >= 0; column = events.next()) {
    const auto begin = static_cast<int64_t>(events.time(static_cast<size_t>(column)));
    if (begin >= whole) break;
    const auto row = static_cast<uint32_t>(events.take(static_cast<size_t>(column)));
    switch (static_cast<Column>(column)) {
      case kAllocations:
        if (is_on_device(row)) busy(begin, end_of(p.allocations.op[model::AllocationId{row}], begin));
        break;
      case kFrees:
        if (is_on_device(p.frees.of[model::FreeId{row}].value)) busy(begin, begin);
        break;
      case kOperators: {
        const auto first = p.operators.inputs.begin() + static_cast<int64_t>(next_input);
        const uint32_t count = p.operators.input_count.raw[row];
        next_input += count;
        if (std::any_of(first, first + count, is_on_device)) busy(begin, end_of(model::OperatorId{row}, begin));
        break;
      }
      case kSteps:
        busy(begin, begin);
        break;
    }
  }
  if (whole - busy_until >= least) out.stretches.push_back({Time{busy_until}, Time{whole}});
  return out;
}

}  // namespace

Pauses find_pauses(const model::Process& process, model::DeviceId device) {
  Quiet quiet = quiet_stretches(process, device);
  std::vector<Interval>& stretches = quiet.stretches;
  std::ranges::stable_sort(stretches, std::ranges::greater(), length_of);
  const size_t most = std::min<size_t>(stretches.size(), quiet.events / kEventsForEach);
  const auto whole = static_cast<double>(process.duration.ns);
  struct Choice {
    size_t count;
    double narrow, gain;  // gain: how much wider the rest becomes
  };
  std::vector<Choice> choices;
  double paused = 0;
  for (size_t count = 1; count <= most; ++count) {
    const auto length = static_cast<double>(length_of(stretches[count - 1]));
    paused += length;
    const double rest = whole - paused, narrow = narrow_length(count, rest);
    if (paused >= whole / 2 && rest > 0 && length >= kShorter * narrow)
      choices.push_back({count, narrow, whole / (rest + narrow * static_cast<double>(count))});
  }
  if (choices.empty()) return {};
  const double most_gain = std::ranges::max(choices, {}, &Choice::gain).gain;
  auto chosen = std::ranges::find_if(choices, [&](const Choice& one) { return one.gain * kGood >= most_gain; });
  const int64_t shortest = length_of(stretches[chosen->count - 1]) / 2;
  while (chosen + 1 != choices.end() && length_of(stretches[(chosen + 1)->count - 1]) >= shortest) ++chosen;
  Pauses out{{}, chosen->narrow};
  stretches.resize(chosen->count);
  std::ranges::sort(stretches, {}, &Interval::begin);
  out.all = std::move(stretches);
  return out;
}

}  // namespace tapelens::peak
