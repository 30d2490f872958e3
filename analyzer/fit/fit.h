// Finds the sizes of a program (a batch size, a sequence length) that fit on a GPU: a search over the runs of an
// experiment. The data here is the result of `tapelens fit`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/experiment/runs.h"
#include "trace/result.h"
#include "trace/types.h"

namespace tapelens::fit {

using trace::Bytes;

using experiment::Outcome;

// Setting::apply: all that `tapelens run --fit` may choose, without and with the memory of the host.
inline constexpr const char* kAuto = "auto";
inline constexpr const char* kAutoOffload = "auto and offload";

// One run of the program.
struct Point : experiment::Attempt {
  uint64_t size = 0;  // 0: nothing in the command varies
};

// The settings of all runs of a search: the GPU and the rewrites.
struct Setting {
  std::string gpu;    // as requested: "A100-40GB", "H100:24GiBx8"
  std::string name;   // as the driver names it
  Bytes memory;       // of each
  std::string apply;  // "lossless"; empty: no rewrites
  policy::RewriteSettings rewrites = {};
};

struct Series {
  Setting setting;
  std::vector<uint64_t> sizes;  // requested sizes, ascending; 0 alone: nothing varies
  std::vector<Point> points;    // by size
  bool was_given_up = false;    // too many runs failed
};

struct Fit {
  std::string command;  // shell-quoted, with its placeholder
  uint64_t steps = 0;   // steps of each run; 0: all
  std::vector<Series> series;
  bool was_interrupted = false;
};

// The largest size that fits, and the smallest larger size that does not. Null if no such size was run.
const Point* largest(const Series& series);
const Point* too_large(const Series& series);
// Whether `largest` is the answer: no size between these two is left to run. A size at which the program fails stays
// unknown.
bool is_settled(const Series& series);

struct SearchSpace {
  std::vector<Setting> settings;
  std::vector<uint64_t> sizes;  // ascending; 0 alone: nothing varies
  bool every = false;           // run all sizes, not only those that the search needs
};

trace::Result<Fit> find(experiment::Runs& runs, const SearchSpace& wanted);

}  // namespace tapelens::fit
