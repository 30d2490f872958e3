// The formats of a verdict and of a comparison.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "analyzer/check/sources.h"
#include "analyzer/compare/comparison.h"
#include "analyzer/compare/gate.h"
#include "analyzer/text/layout.h"

namespace tapelens::compare {

struct Rendering {
  text::Style style;              // style.rows limits each list in text for people
  check::SourceTree tree = {};    // the repository, for SARIF and JUnit
  std::string_view version = "";  // version of Tapelens
};

std::string verdict_text(const GateResult& verdict, const Rendering& how);
std::string verdict_markdown(const GateResult& verdict, const Rendering& how);
std::string verdict_junit(const GateResult& verdict, const Rendering& how);
std::string verdict_sarif(const GateResult& verdict, const Rendering& how);
std::string verdict_json(const GateResult& verdict, const Rendering& how);
std::string verdict_github(const GateResult& verdict, const Rendering& how);

std::string diff_text(const Comparison& comparison, std::span<const By> by, const Rendering& how);
std::string diff_markdown(const Comparison& comparison, std::span<const By> by, const Rendering& how);
std::string diff_html(const Comparison& comparison, std::span<const By> by, const Rendering& how);
std::string diff_json(const Comparison& comparison, std::span<const By> by, const Rendering& how);

struct VerdictFormat {
  const char* name;
  std::string (*render)(const GateResult&, const Rendering&);
};
inline constexpr std::array<VerdictFormat, 6> kVerdictFormats = {{{"text", verdict_text},
                                                                  {"markdown", verdict_markdown},
                                                                  {"junit", verdict_junit},
                                                                  {"sarif", verdict_sarif},
                                                                  {"json", verdict_json},
                                                                  {"github", verdict_github}}};
struct DiffFormat {
  const char* name;
  std::string (*render)(const Comparison&, std::span<const By>, const Rendering&);
};
inline constexpr std::array<DiffFormat, 4> kDiffFormats = {
    {{"text", diff_text}, {"markdown", diff_markdown}, {"html", diff_html}, {"json", diff_json}}};

// ---- sentences that the renderings share

// "+16.0 MiB", "-16.0 MiB", "0 B"
std::string signed_text(Bytes bytes);
// "19.0 MiB -> 35.0 MiB (+16.0 MiB, +84.2 %)"; "19.0 MiB, the same"
std::string change_text(Metric metric, int64_t before, int64_t after);
// "saved peak": the most that was saved at any time, which may be another than that of the peak
std::string figure_name(Metric metric);
// The groups of a key without those that are the same; a category has its name in the report.
std::vector<ComparedGroup> changed_groups(const ComparedDevice& device, By by);
std::string group_name(const ComparedGroup& group, By by);
// The saved tensors of A at the sizes of B; empty if the sizes are the same.
std::string size_text(const ComparedDevice& device);
// The cause of a device's growth; line 0 without growth.
Cause cause_of(const Comparison& comparison, const ComparedDevice& device);

// "+84.2 %"; empty if `before` is 0.
std::string percent_change(int64_t before, int64_t after);

// "peak of cpu 19.0 MiB -> 35.0 MiB (+16.0 MiB, +84.2 %; at most 19.2 MiB)"
std::string figure_text(const Item& item);
// "train.py:14"; empty if no line is known.
std::string line_text(const Cause& cause);
// A failed item on one line: the line of the program, the figure, the statement.
std::string failed_text(const Item& item);
// "  +12.0 MiB  4.0 MiB -> 16.0 MiB  increased  ReluBackward0.result  Net.fc  train.py:7 Net.forward"
std::string row_text(const ComparedRow& row);

}  // namespace tapelens::compare
