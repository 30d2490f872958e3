// One run of an experiment, and its outcome.
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/experiment/measurement.h"

namespace tapelens::experiment {

enum class Outcome : uint8_t {
  measured,       // no request found the device full, and the memory is known
  out_of_memory,  // a request did, even if the program went on
  failed,         // the run ended in another way, so its memory is unknown
  cut_off,        // it made too few steps within the time limit
};

struct Attempt {
  Outcome outcome{};
  Measurement measured;
  bool was_ended = false;  // ended by Tapelens after its steps; false: the program ended itself
  int exit_code = 0;       // if it ended itself
  bool went_on = false;    // the program went on after a request that found the device full
  std::string why;         // why it was not measured: a phrase
  std::string last_words;  // if it failed: the end of its output
  bool was_rewritten = false;
  std::string rewritten;  // with rewrites: the rewritten and skipped saves, as a phrase
  int64_t duration_ns = 0;

  bool is_unknown() const { return outcome == Outcome::failed || outcome == Outcome::cut_off; }
  bool ended_badly() const { return !was_ended && exit_code != 0; }
};

// How a run ended, besides its recording.
struct Ending {
  uint64_t steps = 0;           // the steps that it had to make; 0: all
  bool is_late = false;         // the time limit ended it
  std::string incomplete = {};  // why the recording gives no valid peak, as a phrase; empty: it does
  std::string written = {};     // the end of its output
  // Only memory of a GPU counts, so that the output of a failed run may also say that a GPU was full.
  bool needs_gpu = false;
};

// Sets the outcome with its reasons. Requires `measured`, `was_ended` and `exit_code`.
void judge(Attempt& attempt, const Ending& ending);

const char* outcome_name(Outcome outcome);  // "measured", "out_of_memory", "failed", "cut_off"
// "cuda:0 had no room for 1.5 GiB, train.py:12 forward; the program went on without it".
std::string why_text(const Attempt& attempt);
// The result of a run on one line: "size 8: fits, 20.1 GiB allocated (12.3 s)". `outcome`: as the search words it.
std::string result_text(const std::string& name, const std::string& outcome, const Attempt& attempt);
// For a failed run with output, "Last output of the run with 8:" and the lines; else empty. `of`: " with 8".
std::string last_words_text(const Attempt& attempt, const std::string& of);

}  // namespace tapelens::experiment
