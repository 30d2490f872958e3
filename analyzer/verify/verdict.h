// What `tapelens verify` says of a program and what was rewritten in it. verdict_json.h writes and reads it,
// verdict_text.h has its sentences; docs/verify.md explains both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/model.h"
#include "rewrites/plan.h"

namespace tapelens::verify {

using model::Bytes;

struct Difference {
  enum class Kind : uint8_t { loss, gradient, parameter, returned_gradient, output, exit_code };
  Kind kind{};
  int32_t rank = -1;                   // of the process in which it is; -1: of none that has one
  uint64_t step = 0;                   // from 0; of an output the line, from 1; of an exit code 0
  std::string name;                    // of the parameter, or of the input of torch.autograd.grad: "input 2"
  std::string bare, rewritten;         // the values as text; empty: there is none
  std::string rewrite;                 // that makes it, if it was found
  std::optional<rewrites::Site> site;  // of that rewrite, if it was found; without Site::finding
  bool operator==(const Difference&) const = default;
};
const char* kind_name(
    Difference::Kind kind);  // "loss", "gradient", "parameter", "returned_gradient", "output", "exit_code"

// How far a gradient is from another of the first step: the largest difference of two elements, divided by the largest
// element of the bare program's gradient in float64. NaN: it is no finite number.
struct GradientError {
  std::string name;                // of the parameter
  double difference = 0;           // of the bare and the rewritten run
  double bare = 0, rewritten = 0;  // of each from float64
  bool operator==(const GradientError&) const = default;
};
struct Rounding {
  std::string unknown;                   // why there are no figures; empty: there are
  std::vector<GradientError> gradients;  // the largest difference first
  uint64_t left_out = 0;                 // gradients that could not be followed in float64
  bool operator==(const Rounding&) const = default;
};

// How much was compared, and how many of which kind could not be: no ordinary tensors on the CPU.
struct Compared {
  uint64_t steps = 0, losses = 0, gradients = 0, parameters = 0;
  uint64_t gradients_left_out = 0, parameters_left_out = 0;
  uint64_t returned_gradients = 0;  // by torch.autograd.grad
  uint64_t output_lines = 0;        // of standard output: of a patched program that computes no gradients

  uint64_t values() const { return gradients + parameters + returned_gradients; }
  bool operator==(const Compared&) const = default;
};

// Of one run. Peaks are of the process and the device with the largest.
struct Figures {
  int exit_code = 0;
  Bytes peak;
  Bytes last_step_peak;            // of the last step with a backward: some rewrites have to see one first
  Bytes saved_peak;                // peak::saved_for_backward()
  std::optional<int64_t> step_ns;  // median over the steps, the first left out if there are others; of that process
  // Of each step of the first process: the loss of the last backward in it (NaN: none), and of all gradients together.
  std::vector<double> loss;
  std::vector<uint64_t> gradient_checksum;
  bool operator==(const Figures&) const = default;
};

// Of the process with the largest peak: peak::RewrittenTotal says what each number is.
struct Applied {
  std::string rewrite;
  int level = 0;
  uint64_t sites = 0, times = 0;
  Bytes bytes, kept;
  bool operator==(const Applied&) const = default;
};
struct Skipped {
  std::string rewrite, reason;
  uint64_t sites = 0;
  Bytes bytes;
  bool operator==(const Skipped&) const = default;
};

// What `tapelens verify --patch` ran instead of rewrites: then all that is called rewritten here is the patched
// program's, and there is nothing applied, nothing skipped and no rounding.
struct Patch {
  std::vector<std::string> files;   // that it changes, as the repository names them
  std::vector<std::string> unseen;  // of those, that no operator of the patched run was called from
  // Gradients that only one of the runs has; all others were compared.
  uint64_t gradients_of_bare = 0, gradients_of_patched = 0;
  bool operator==(const Patch&) const = default;
};

enum class Answer : uint8_t { identical, different, none };
const char* answer_name(Answer answer);  // "identical", "different", "none"

struct Verdict {
  // False: two bare runs differ, `difference` is theirs, and nothing is said of the rewrites.
  bool is_deterministic = true;
  std::optional<Difference> difference;  // the first
  std::optional<Rounding> rounding;      // what differs comes from rewrites that add in another order alone
  Compared compared;
  Figures bare, rewritten;
  std::optional<Patch> patch;
  std::vector<Applied> applied;
  std::vector<Skipped> skipped;
  // Why no rewrite was applied anywhere: then the runs are two of one program. Empty: one was, or it is a patch.
  std::string why_nothing_applied;

  // The same losses alone prove nothing of the gradients: then there is none.
  Answer answer() const;
  // What the second run is called: the key of its figures, of its values in a difference, and of its column.
  const char* second() const { return patch ? "patched" : "rewritten"; }
  bool operator==(const Verdict&) const = default;
};

}  // namespace tapelens::verify
