// Finds the sizes of a program (a batch size, a sequence length) that fit on a GPU, by running it. The runs are behind
// an interface; the data here is the result of `tapelens fit`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trace/result.h"
#include "trace/types.h"

namespace tapelens::fit {

using trace::Bytes;

enum class Outcome : uint8_t {
  fits,          // no request found the GPU full
  does_not_fit,  // one did, even if the program went on
  failed,        // the run ended in another way, so its memory is unknown
  cut_off,       // it made too few steps within the time limit
};

// One run of the program.
struct Point {
  uint64_t size = 0;  // 0: nothing in the command varies
  Outcome outcome{};
  // The largest values of any device in any process, as the allocator counts them; 0 if no device was used.
  Bytes allocated, reserved;
  uint64_t steps = 0;         // completed optimizer steps, of the process with the most
  uint64_t fewest_steps = 0;  // the same of the process with the fewest, among those that use a GPU
  bool was_ended = false;     // ended by Tapelens after those steps; false: the program ended itself
  int exit_code = 0;          // if it ended itself
  bool went_on = false;       // the program went on after a request that found the GPU full
  bool grew = false;          // the last step has a larger peak than all steps before it
  std::string why;            // why it does not fit or is unknown: a phrase
  std::string last_words;     // if it failed: the end of its output
  bool was_rewritten = false;
  std::string rewritten;    // with rewrites: the rewritten and skipped saves, as a phrase
  std::string value_reads;  // value reads that may affect the peak, as a sentence; empty: none known
  int64_t duration_ns = 0;
};

// The settings of all runs of a search: the GPU and the rewrites.
struct Setting {
  std::string gpu;    // as requested: "A100-40GB", "H100:24GiBx8"
  std::string name;   // as the driver names it
  Bytes memory;       // of each
  std::string apply;  // "lossless"; empty: no rewrites
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

class Runs {
 public:
  virtual ~Runs() = default;
  // None: the user interrupted the search. An error ends the search: no run is possible.
  virtual trace::Result<std::optional<Point>> run(const Setting& setting, uint64_t size) = 0;
  // Called before each run, with the results up to now.
  virtual void tell(const Series& series, uint64_t next) = 0;
};

struct Wanted {
  std::vector<Setting> settings;
  std::vector<uint64_t> sizes;  // ascending; 0 alone: nothing varies
  bool every = false;           // run all sizes, not only those that the search needs
};

trace::Result<Fit> find(Runs& runs, const Wanted& wanted);

}  // namespace tapelens::fit
