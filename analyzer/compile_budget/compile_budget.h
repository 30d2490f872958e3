// The effect of torch._functorch.config.activation_memory_budget on a program, from runs at several budgets. The budget
// limits how much of the activations of a compiled graph the partitioner may keep for the backward: 1 is fastest; 0
// keeps only the inputs and recomputes the rest. The sweep is a search over the runs of an experiment; the data here is
// the result of `tapelens budget`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/experiment/runs.h"
#include "trace/result.h"

namespace tapelens::compile_budget {

using experiment::Measurement;
using experiment::Outcome;
using trace::Bytes;

// One run of the program.
struct Point : experiment::Attempt {
  double budget = 1;
};

// Why the sweep stopped.
enum class Stop : uint8_t {
  none,
  nothing_compiled,  // no compiled graph with a backward was seen
  set_by_program,    // the program chose the budget of every graph
  cannot_be_set,     // this PyTorch does not support it
  first_failed,      // no base for a comparison
  interrupted,       // by the user
};

struct Sweep {
  std::string command;        // shell-quoted
  uint64_t steps = 0;         // steps of each run; 0: all
  std::vector<Point> points;  // from the highest budget to the lowest
  Stop stop{};
};

// "0.3,0.5": numbers from 0 to 1 without repeats. Sorted from the highest down; includes 1, the base of the comparison.
trace::Result<std::vector<double>> parse_budgets(std::string_view text);
inline constexpr const char* kDefaultBudgets = "1,0.8,0.6,0.5,0.4,0.2,0.1,0";

// `budgets`: from the highest to the lowest.
trace::Result<Sweep> sweep(experiment::Runs& runs, const std::vector<double>& budgets);

// A peak is lower than another if they differ by more than this share of the base's peak.
inline constexpr double kSameWithin = 0.005;
// The gain of a budget: the share of the base's peak that it saves, minus the share of the base's step time that it
// adds. Times that differ by noise are equal. The knee is the highest budget with this part of the largest gain.
inline constexpr double kKneePart = 0.9;

// The base of the comparison: the highest measured budget; null if none was measured.
const Point* base(const Sweep& sweep);
// The highest budget with the lowest peak, where peaks within kSameWithin are equal; null if none was measured.
const Point* lowest(const Sweep& sweep);
// Null if no budget lowers the peak. If every budget costs more time than it saves memory, the one with the largest
// gain.
const Point* knee(const Sweep& sweep);
// How far the steps of one run differ, in the run where they differ most: smaller changes of the median are noise.
int64_t noise_ns(const Sweep& sweep);
// Whether the steps of a point and of the base differ by noise alone, or have no time.
bool is_time_noise(const Sweep& sweep, const Point& point);
// The highest budget above this one whose peak is not higher; null if this budget lowers the peak.
const Point* no_lower_than(const Sweep& sweep, const Point& point);
// Whether the run was measured with the requested budget in at least one graph.
bool is_measured(const Point& point);

}  // namespace tapelens::compile_budget
