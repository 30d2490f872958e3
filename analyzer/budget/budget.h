// What torch._functorch.config.activation_memory_budget does to a program, found by running it at several: how much of
// what the graphs of torch.compile keep for the backward the partitioner may keep (1: what is fastest, 0: the inputs
// alone, and the rest is computed again). Who makes the runs is behind an interface; the data here is what
// `tapelens budget` says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/budget/reading.h"
#include "trace/result.h"

namespace tapelens::budget {

enum class Outcome : uint8_t {
  measured,
  out_of_memory,  // a request found the device full, whether the program ended by it or went on
  failed,         // the run ended in another way, and says nothing of the memory
  cut_off,        // it did not come far enough in its time
};

// One run of the program.
struct Point {
  double budget = 1;
  Outcome outcome{};
  Reading reading;
  bool was_ended = false;  // by us, after its steps; else it ended by itself
  int exit_code = 0;       // of one that ended by itself
  std::string why;         // of what is not measured: a phrase
  std::string last_words;  // of one that failed: the end of what it wrote
  int64_t duration_ns = 0;
};

// Why no more budgets were tried.
enum class Stop : uint8_t {
  none,
  nothing_compiled,  // no graph of torch.compile with a backward was seen
  set_by_program,    // each graph was partitioned with a budget that the program chose
  cannot_be_set,     // in this PyTorch
  first_failed,      // there is nothing to compare with
  interrupted,       // by the user
};

struct Sweep {
  std::string command;        // shell-quoted
  uint64_t steps = 0;         // of each run; 0: to the end
  std::vector<Point> points;  // from the highest budget down
  Stop stop{};
};

class Runs {
 public:
  virtual ~Runs() = default;
  // None: the user wants no more of them. An error ends the sweep: no run can be made.
  virtual trace::Result<std::optional<Point>> run(double budget) = 0;
};

// "0.3,0.5": numbers from 0 to 1, each once. From the highest down, with 1, which the others are compared with.
trace::Result<std::vector<double>> parse_budgets(std::string_view text);
inline constexpr const char* kDefaultBudgets = "1,0.8,0.6,0.5,0.4,0.2,0.1,0";

// `budgets`: from the highest down.
trace::Result<Sweep> sweep(Runs& runs, const std::vector<double>& budgets);

// A peak is lower than another if it is by more than this part of the peak that others are compared with.
inline constexpr double kSameWithin = 0.005;
// The knee is the highest budget that saves this part of what the lowest peak saves.
inline constexpr double kKneePart = 0.9;

// The highest budget that was measured, with which the others are compared; null: none was.
const Point* base(const Sweep& sweep);
// The highest budget with the lowest peak, as far as peaks differ by more than kSameWithin; null: none was measured.
const Point* lowest(const Sweep& sweep);
// Null: no budget lowers the peak.
const Point* knee(const Sweep& sweep);
// The highest budget above this one whose peak this one's is not lower than; null: this one lowers the peak.
const Point* no_lower_than(const Sweep& sweep, const Point& point);
// Whether it was measured with the budget that was asked for, in some graph at least.
bool is_measured(const Point& point);

}  // namespace tapelens::budget
