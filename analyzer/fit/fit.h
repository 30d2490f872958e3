// Which sizes of a program (a batch size, a sequence length) fit on a GPU, found by running it. Who makes the runs is
// behind an interface; the data here is what `tapelens fit` says.
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
  does_not_fit,  // one did, whether the program ended by it or went on
  failed,        // the run ended in another way, and says nothing of the memory
  cut_off,       // it did not come far enough in its time
};

// One run of the program.
struct Point {
  uint64_t size = 0;  // 0: nothing of the command varies
  Outcome outcome{};
  // The largest of a device of a process, by the allocator's count; 0 where it was used by none.
  Bytes allocated, reserved;
  uint64_t steps = 0;         // of the optimizer that ended, of the process that made the most
  uint64_t fewest_steps = 0;  // the same of the process that made the fewest, of those that use a GPU
  bool was_ended = false;     // by us, after those steps; else it ended by itself
  int exit_code = 0;          // of one that ended by itself
  bool went_on = false;       // after a request that found the GPU full
  bool grew = false;          // the last step has a larger peak than all before it
  std::string why;            // of what does not fit or is not known: a phrase
  std::string last_words;     // of one that failed: the end of what it wrote
  bool was_rewritten = false;
  std::string rewritten;    // with rewrites: what was and what was left alone, a phrase
  std::string value_reads;  // what its peak may depend on, a sentence; empty: nothing is known
  int64_t duration_ns = 0;
};

// What is the same in all runs of a search: the GPU, and what is rewritten.
struct Setting {
  std::string gpu;    // as it was asked for: "A100-40GB", "H100:24GiBx8"
  std::string name;   // as the driver calls it
  Bytes memory;       // of each
  std::string apply;  // "lossless"; empty: nothing is rewritten
};

struct Series {
  Setting setting;
  std::vector<uint64_t> sizes;  // that were asked for, in their order; 0 alone: nothing varies
  std::vector<Point> points;    // by size
  bool was_given_up = false;    // too many runs failed
};

struct Fit {
  std::string command;  // shell-quoted, with its placeholder
  uint64_t steps = 0;   // of each run; 0: to the end
  std::vector<Series> series;
  bool was_interrupted = false;
};

// The largest size that fits, and the smallest above it that does not; null: there is none that was run.
const Point* largest(const Series& series);
const Point* too_large(const Series& series);
// Whether every size between these was run, or there is none: `largest` is the answer. Of sizes at which the program
// fails it is not known.
bool is_settled(const Series& series);

class Runs {
 public:
  virtual ~Runs() = default;
  // None: the user wants no more of them. An error ends the search: no run can be made.
  virtual trace::Result<std::optional<Point>> run(const Setting& setting, uint64_t size) = 0;
  // Before a run: what is known so far.
  virtual void tell(const Series& series, uint64_t next) = 0;
};

struct Wanted {
  std::vector<Setting> settings;
  std::vector<uint64_t> sizes;  // ascending; 0 alone: nothing varies
  bool every = false;           // run all sizes, not only those that the search needs
};

trace::Result<Fit> find(Runs& runs, const Wanted& wanted);

}  // namespace tapelens::fit
