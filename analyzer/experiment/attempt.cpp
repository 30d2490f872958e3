#include "analyzer/experiment/attempt.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "analyzer/text/escape.h"
#include "analyzer/text/format.h"

namespace tapelens::experiment {
namespace {

constexpr size_t kLastLines = 12;  // lines of a failed run's output that a result shows
constexpr int kKilled = 128 + 9;   // the shell's exit code for SIGKILL

// Whether the output says that a library outside of PyTorch's allocator ran out of memory.
bool says_full(const std::string& text) {
  return std::ranges::any_of(
      std::initializer_list<const char*>{"CUDA out of memory", "CUDA error: out of memory",
                                         "CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED"},
      [&](const char* words) { return text.find(words) != std::string::npos; });
}

std::string last_lines(const std::string& written) {
  size_t at = written.size();
  for (size_t lines = 0; at > 0 && lines <= kLastLines; --at) lines += written[at - 1] == '\n' ? 1 : 0;
  return text::printable_lines(at == 0 ? written : written.substr(at + 1));
}

std::string ended_text(int exit_code) {
  if (exit_code == kKilled) return "killed (exit code 137): perhaps this machine's own memory was full";
  return "exit code " + std::to_string(exit_code);
}

std::string late_text(uint64_t steps, uint64_t wanted) {
  return text::plural(steps, "step", "steps") +
         (wanted > 0 ? " of " + std::to_string(wanted) + " had ended" : " had ended, and the program had not") +
         " when its time was up (--limit)";
}

// Why the measurement gives no valid peak; empty if it does.
std::string unknown(const Measurement& measured, const Ending& ending) {
  if (!ending.incomplete.empty()) return ending.incomplete;
  if (!measured.left_out.empty()) return measured.left_out;
  return ending.needs_gpu && !measured.uses_gpu ? "it allocated nothing on a GPU" : "";
}

void set(Attempt& attempt, Outcome outcome, std::string why) {
  attempt.outcome = outcome;
  attempt.why = std::move(why);
}

}  // namespace

void judge(Attempt& attempt, const Ending& ending) {
  Measurement& measured = attempt.measured;
  measured.grew &= attempt.was_ended;  // otherwise more than steps is behind the last end of a step
  if (!measured.full.empty()) {
    set(attempt, Outcome::out_of_memory, measured.full);
    attempt.went_on = !attempt.ended_badly();
  } else if (ending.needs_gpu && attempt.ended_badly() && says_full(ending.written)) {
    set(attempt, Outcome::out_of_memory,
        "the program's output shows that a library outside of PyTorch's allocator had no room");
  } else if (ending.is_late) {
    set(attempt, Outcome::cut_off, late_text(measured.optimizer_steps, ending.steps));
  } else if (attempt.ended_badly()) {
    set(attempt, Outcome::failed, ended_text(attempt.exit_code));
    attempt.last_words = last_lines(ending.written);
  } else if (std::string why = unknown(measured, ending); !why.empty()) {
    set(attempt, Outcome::failed, std::move(why));
  } else {
    attempt.outcome = Outcome::measured;
  }
}

const char* outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::measured:
      return "measured";
    case Outcome::out_of_memory:
      return "out_of_memory";
    case Outcome::failed:
      return "failed";
    case Outcome::cut_off:
      break;
  }
  return "cut_off";
}

std::string result_text(const std::string& name, const std::string& outcome, const Attempt& attempt) {
  return name + ": " + outcome + " (" + text::time_text(trace::Time{attempt.duration_ns}) + ")";
}

std::string why_text(const Attempt& attempt) {
  return attempt.why + (attempt.went_on ? "; the program went on without it" : "");
}

std::string last_words_text(const Attempt& attempt, const std::string& of) {
  if (attempt.outcome != Outcome::failed || attempt.last_words.empty()) return {};
  return "Last output of the run" + of + ":\n" + attempt.last_words + (attempt.last_words.ends_with('\n') ? "" : "\n");
}

}  // namespace tapelens::experiment
