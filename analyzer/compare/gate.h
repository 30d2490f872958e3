// Decides whether a run passes: each budget, each figure of the baseline, each new finding. Failed items have a cause.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/compare/budget.h"
#include "analyzer/compare/comparison.h"

namespace tapelens::compare {

// The line of the program that made memory grow: a changed line if one is known.
struct Cause {
  Frame where;            // line 0: unknown
  std::string statement;  // the text of that line; for a removed line its old text
  std::string why;        // "added; the only line that changed", "allocates the largest part of the growth"
};

// `grown` is sorted by bytes, the most first.
Cause cause_of(const Comparison& comparison, const std::vector<ComparedRow>& grown);

struct Limits {
  std::vector<MemoryBudget> budgets;
  double tolerance = 0.01;  // fraction of a figure of the baseline
  // New findings of this severity or higher fail; none: no finding fails.
  std::optional<check::Severity> fail_on = check::Severity::warning;
};

// One checked item.
struct Item {
  enum class Kind : uint8_t { budget, figure, finding };
  Kind kind{};
  std::string name;    // "peak of cpu", "peak[GPT]<=2GiB of cuda:0", "new finding unneeded-save"
  std::string device;  // "cpu"; empty for a finding
  Metric metric{};
  bool passed = true;
  std::optional<int64_t> before;  // value in the baseline
  int64_t after = 0, most = 0;    // value of the run, and the limit
  // Only of a failed item.
  Cause cause;
  std::string module, field;       // from the row with the largest growth or the most bytes
  std::vector<ComparedRow> grown;  // rows at the device's peak, the most bytes first
  std::string message;             // text of a finding
};

struct GateResult {
  // Failed items first; figures before budgets before findings; figures of the device whose peak grew most first.
  std::vector<Item> items;
  std::vector<std::string> remarks;
  bool has_baseline = false;
  bool is_complete = true;  // false: the run lost data or did not end normally, so passing proves nothing

  bool passed() const;
  size_t failed() const;
};

// Without a baseline, `comparison` is null and only budgets apply. Otherwise `run` is comparison->b.
GateResult judge(const RunFigures& run, const Comparison* comparison, const Limits& limits);

}  // namespace tapelens::compare
