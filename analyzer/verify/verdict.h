// The result of `tapelens verify`, and its JSON. verdict_text.h prints it; docs/verify.md explains both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/model.h"
#include "policy/plan.h"
#include "trace/result.h"

namespace tapelens::verify {

using model::Bytes;

struct Difference {
  enum class Kind : uint8_t { loss, gradient, parameter, returned_gradient, output, exit_code };
  Kind kind{};
  int32_t rank = -1;                 // of its process; -1 if the process has no rank
  uint64_t step = 0;                 // from 0; for output the line, from 1; for an exit code 0
  std::string name;                  // the parameter, or the input of torch.autograd.grad: "input 2"
  std::string bare, rewritten;       // the values as text; empty: missing
  std::string rewrite;               // that makes the difference, if found
  std::optional<policy::Site> site;  // of that rewrite, if found; without Site::finding
  bool operator==(const Difference&) const = default;
};
const char* kind_name(
    Difference::Kind kind);  // "loss", "gradient", "parameter", "returned_gradient", "output", "exit_code"

// How far two versions of a gradient of the first step differ: the largest difference of two elements, divided by the
// largest element of the bare gradient in float64. NaN: not finite.
struct GradientError {
  std::string name;                // the parameter's name
  double difference = 0;           // bare against rewritten
  double bare = 0, rewritten = 0;  // each against float64
  bool operator==(const GradientError&) const = default;
};
struct Rounding {
  std::string unknown;                   // the reason for missing figures; empty: they exist
  std::vector<GradientError> gradients;  // the largest difference first
  uint64_t left_out = 0;                 // gradients without float64 values
  bool operator==(const Rounding&) const = default;
};

// The amount that was compared, and the tensors that were not, because they are not ordinary CPU tensors.
struct Compared {
  uint64_t steps = 0, losses = 0, gradients = 0, parameters = 0;
  uint64_t gradients_left_out = 0, parameters_left_out = 0;
  uint64_t returned_gradients = 0;  // by torch.autograd.grad
  uint64_t output_lines = 0;        // lines of standard output, for a patched program without gradients

  uint64_t values() const { return gradients + parameters + returned_gradients; }
  bool operator==(const Compared&) const = default;
};

// The times of a run's steps without the first (if there are others), in the process of the peak, in ns. Negative if
// the checksums, whose time is subtracted, took longer.
struct StepTimes {
  int64_t median = 0;
  int64_t low = 0, high = 0;  // the lower and upper quartile: half of the steps are between them
  uint64_t steps = 0;         // number of these steps; 0: unknown (an older version wrote the verdict)
  bool operator==(const StepTimes&) const = default;
};

// Figures of one run. Peaks are from the device of run::PeakDevice.
struct Figures {
  int exit_code = 0;
  Bytes peak;
  Bytes last_step_peak;  // last step with a backward; some rewrites start after the first
  Bytes saved_peak;      // peak::saved_for_backward()
  std::optional<StepTimes> step;
  // By step of the first process: the loss of the step's last backward (NaN: none), and a checksum of all gradients.
  std::vector<double> loss;
  std::vector<uint64_t> gradient_checksum;
  bool operator==(const Figures&) const = default;
};

// From the process of run::PeakDevice; peak::RewrittenTotal describes each number.
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

// Set by `tapelens verify --patch`. All members named `rewritten` then describe the patched program. No rewrite is
// applied or skipped, and `rounding` is empty.
struct Patch {
  std::vector<std::string> files;   // changed by the patch, relative to the repository
  std::vector<std::string> unseen;  // those without any operator call in the patched run
  // Gradients that only one of the runs has; all others were compared.
  uint64_t gradients_of_bare = 0, gradients_of_patched = 0;
  bool operator==(const Patch&) const = default;
};

enum class Answer : uint8_t { identical, different, none };
const char* answer_name(Answer answer);  // "identical", "different", "none"

struct Verdict {
  // False if two bare runs differ; `difference` is theirs, and the rewrites were not judged.
  bool is_deterministic = true;
  std::optional<Difference> difference;  // the first
  std::optional<Rounding> rounding;      // set if only rewrites that reorder sums make the difference
  Compared compared;
  Figures bare, rewritten;
  std::optional<Patch> patch;
  std::vector<Applied> applied;
  std::vector<Skipped> skipped;
  // Why no rewrite was applied anywhere, so that both runs are the same program. Empty if one was, or for a patch.
  std::string why_nothing_applied;

  // Equal losses alone say nothing about the gradients; the answer is then none.
  Answer answer() const;
  // The name of the second run: key of its figures and its values in a difference, and title of its column.
  const char* second() const { return patch ? "patched" : "rewritten"; }
  bool operator==(const Verdict&) const = default;
};

// The time of a step of the second run, relative to a bare one.
struct TimeRatio {
  // The ratio of the medians.
  double ratio = 0;
  // The spread, from the quartiles: the fastest quarter of the second run against the slowest of the bare run, and the
  // reverse.
  double low = 0, high = 0;
  // Fewer than kFewestSteps steps in a run. The spread is then meaningless.
  bool is_too_short = false;
  // False if the run is too short, or if the spread includes 1: it exceeds the difference.
  bool is_measurable() const { return !is_too_short && (low > 1 || high < 1); }
  static constexpr uint64_t kFewestSteps = 5;
};
// None if a run has no step with a time.
std::optional<TimeRatio> time_ratio(const Verdict& verdict);

// ---- the JSON that `tapelens verify --format json` prints: its only writer and reader
std::string verdict_json(const Verdict& verdict);

// The text is unverified. It must have every key of verdict_json() but those that later versions added, whole numbers
// within int64_t where those belong, and no contradictions; otherwise the result is an error. `name` is the file's, for
// the error. Strings in the verdict may be any UTF-8.
trace::Result<Verdict> read_verdict(std::string_view json, std::string_view name);

}  // namespace tapelens::verify
