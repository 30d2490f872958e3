// Whether a run may go in: each budget, each figure of the baseline, each new finding, and what is to be said of those
// that fail.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/compare/budget.h"
#include "analyzer/compare/cause.h"
#include "analyzer/compare/comparison.h"

namespace tapelens::compare {

struct Limits {
  std::vector<Budget> budgets;
  double tolerance = 0.01;  // of a figure of the baseline
  // New findings of this severity or higher fail; none: none does.
  std::optional<check::Severity> fail_on = check::Severity::warning;
};

// One thing that was looked at.
struct Item {
  enum class Kind : uint8_t { budget, figure, finding };
  Kind kind{};
  std::string name;    // "peak of cpu", "peak[GPT]<=2GiB of cuda:0", "new finding unneeded-save"
  std::string device;  // "cpu"; empty: a finding's
  Metric metric{};
  bool passed = true;
  std::optional<int64_t> before;  // of the baseline
  int64_t after = 0, most = 0;    // and what it may be
  // Where it failed.
  Cause cause;
  std::string module, field;       // of what grew most, or holds most
  std::vector<ComparedRow> grown;  // at the peak of that device, the most bytes first
  std::string message;             // of a finding
};

struct Verdict {
  // Failed ones first, figures before budgets before findings; figures of the device whose peak grew most first.
  std::vector<Item> items;
  std::vector<std::string> remarks;
  bool has_baseline = false;
  bool is_complete = true;  // false: the run lost data or did not end well, so that passing says nothing

  bool passed() const;
  size_t failed() const;
};

// `comparison` null: there is no baseline, and `run` is judged by budgets alone; else it is comparison->b.
Verdict judge(const Snapshot& run, const Comparison* comparison, const Limits& limits);

}  // namespace tapelens::compare
