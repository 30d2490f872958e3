// Lines that repeatedly allocate and free memory of one size within a step, where one buffer is enough.
#include "analyzer/check/check.h"

#include <algorithm>
#include <map>
#include <queue>

#include "analyzer/check/graphs.h"

namespace tapelens::check {
namespace {

constexpr Option kOptions[] = {
    {"min-bytes", "64KiB", "smaller allocations are left out"},
    {"min-pairs", "64", "how often in one step, at one line, memory of one size must be allocated after it was freed"},
};

class AllocationChurn final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "allocation-churn",
            .title = "lines that allocate and free the same size again and again",
            .help =
                "Within one step, one line of the program allocates memory of one size many times, each time after it "
                "freed the previous memory: a loop of temporaries. One buffer that is written in place, or through "
                "out=, can replace all of them. The peak does not change, but the allocator has less work and less "
                "fragmentation. The notes show how much each step and each backward allocates.",
            .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const Process& p = context.process;
    count_all(context);
    const Bytes least = options.bytes("min-bytes");
    const auto most = static_cast<uint64_t>(std::max<int64_t>(options.number("min-pairs"), 1));
    frame_of_.assign(context.text.stack_begin.size(), UINT32_MAX);
    const std::vector<Step>& steps = context.steps;
    uint32_t step = 0;
    std::map<Key, Run> runs;  // cleared after each step
    const std::vector<Interval>& backwards = context.phases.backwards();
    size_t backward = 0;
    for (const AllocationId allocation : context.allocations(least)) {
      if (p.allocations.origin[allocation] != Origin::allocator) continue;
      const Time birth = p.allocations.time[allocation];
      if (birth < p.older.until) continue;  // older steps are incomplete: their freed memory is not recorded
      while (step + 1 < steps.size() && steps[step + 1].when.begin <= birth) {
        emit(context, runs, most, sink);
        ++step;
      }
      const StackId stack = stack_of(p, context.text, allocation);
      if (!stack) continue;
      Run& run = runs[{frame_of(context, stack), p.allocations.bytes[allocation].value}];
      // The new allocation can reuse the memory of those freed by now.
      while (!run.alive.empty() && run.alive.top() <= birth) run.alive.pop();
      run.alive.push(p.freed(allocation));
      run.most_alive = std::max(run.most_alive, run.alive.size());
      if (run.count++ == 0) run.first = allocation;
      // The engine allocates between evaluations, too.
      while (backward < backwards.size() && backwards[backward].end <= birth) ++backward;
      run.in_backward += backward < backwards.size() && backwards[backward].contains(birth) ? 1 : 0;
      run.last = birth;
      ++run.operators[operator_name_of(p, context.text, allocation)];
    }
    emit(context, runs, most, sink);
  }

  Description describe(const Context& context, const Group& group) const override {
    uint64_t pairs = 0, in_backward = 0, steps = 0;
    std::map<StringId, uint64_t> operators;
    Time former{-1};
    for (const Occurrence& occurrence : group.occurrences) {
      const Found& found = found_[occurrence.number];
      pairs += found.pairs;
      in_backward += found.in_backward;
      for (const auto& [name, count] : found.operators) operators[name] += count;
      const Time begin = step_at(context.steps, occurrence.when.begin).when.begin;
      if (begin != former) ++steps;
      former = begin;
    }
    steps = std::max<uint64_t>(steps, 1);
    const std::string line = line_of(context, group.biggest().place);
    Description d;
    d.severity = Severity::info;
    d.title = "same-sized temporaries are allocated and freed in a loop";
    d.message = "In a step," + (line.empty() ? std::string(" one line") : " " + line) + " allocates " +
                bytes_text(group.biggest().bytes) + " right after freeing as much, " + counted(pairs / steps, "time") +
                "; one buffer is enough. This costs time, but does not raise the peak.";
    d.notes.push_back("by operator, a step: " + listed(context, operators, steps) +
                      (in_backward > 0 ? "; " + std::to_string(in_backward / steps) + " of them in backward" : ""));
    d.notes.push_back(all_);
    d.fix.text =
        "In code without gradients, write in place (x.mul_(a).add_(b)) or into a buffer that is made once "
        "(torch.mul(x, a, out=buffer)).";
    return d;
  }

 private:
  using Key = std::pair<uint32_t, int64_t>;  // line, bytes
  struct Run {
    std::priority_queue<Time, std::vector<Time>, std::greater<>> alive;  // their ends, the earliest first
    size_t most_alive = 0;
    uint64_t count = 0, in_backward = 0;
    AllocationId first;
    Time last;
    std::map<StringId, uint64_t> operators;
  };
  struct Found {
    uint64_t pairs, in_backward;
    std::map<StringId, uint64_t> operators;
  };

  uint32_t frame_of(const Context& context, StackId stack) {
    uint32_t& known = frame_of_[stack.value];
    if (known == UINT32_MAX) known = source_frame(context.text, stack).value;
    return known;
  }

  // The number of buffers alive together is enough for all allocations.
  void emit(const Context& context, std::map<Key, Run>& runs, uint64_t most, Sink& sink) {
    const Process& p = context.process;
    for (auto& [key, run] : runs) {
      const uint64_t pairs = run.count - run.most_alive;
      if (pairs < most) continue;
      Place place = place_of(context, run.first);
      place.op = {};  // the line counts, with any of its operators
      const auto number = static_cast<uint64_t>(found_.size());
      found_.push_back({pairs, run.in_backward, std::move(run.operators)});
      const Interval when{p.allocations.time[run.first], Time{run.last.ns + 1}};
      sink.add({place, {}, Bytes{key.second}, when, {}, number}, {});
    }
    runs.clear();
  }

  // Sums all allocations for the notes: by step, by backward, and by operator.
  void count_all(const Context& context) {
    const Process& p = context.process;
    std::vector<uint64_t> by_name(context.text.string_begin.size(), 0);
    uint64_t all = 0;
    Bytes bytes;
    for (const AllocationId allocation : context.allocations(Bytes{})) {
      if (p.allocations.time[allocation] < p.older.until) continue;
      ++all;
      bytes += p.allocations.bytes[allocation];
      ++by_name[p.operators.name[context.provenance.maker(allocation)].value];
    }
    std::map<StringId, uint64_t> operators;
    for (uint32_t id = 1; id < by_name.size(); ++id) {
      if (by_name[id] > 0) operators[StringId{id}] = by_name[id];
    }
    const uint64_t steps = context.steps.size();
    all_ = "the whole program: " + counted(all / steps, "allocation") + " (" +
           bytes_text(Bytes{bytes.value / static_cast<int64_t>(steps)}) + ") a step; most by " +
           listed(context, operators, steps);
    const std::vector<Interval>& backwards = context.phases.backwards();
    uint64_t in_backward = 0;
    for (const Interval& backward : backwards) in_backward += context.timeline.allocated(backward).allocations;
    if (!backwards.empty()) {
      all_ += "; " + counted(in_backward / backwards.size(), "allocation") + " in each backward";
    }
  }

  // The three operators with the most bytes.
  static std::string listed(const Context& context, const std::map<StringId, uint64_t>& operators, uint64_t steps) {
    std::vector<std::pair<StringId, uint64_t>> most(operators.begin(), operators.end());
    std::ranges::stable_sort(most, std::greater(), &std::pair<StringId, uint64_t>::second);
    std::string text;
    for (size_t i = 0; i < std::min<size_t>(most.size(), 3); ++i) {
      text += (i == 0 ? "" : ", ") + std::string(context.text.string(most[i].first)) + " " +
              std::to_string(most[i].second / steps);
    }
    return text + (most.size() > 3 ? ", others fewer" : "");
  }

  std::vector<uint32_t> frame_of_;  // by stack
  std::vector<Found> found_;        // by Occurrence::number
  std::string all_;
};

}  // namespace
}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::AllocationChurn)
