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

std::string verdict_text(const Verdict& verdict, const Rendering& how);
std::string verdict_markdown(const Verdict& verdict, const Rendering& how);
std::string verdict_junit(const Verdict& verdict, const Rendering& how);
std::string verdict_sarif(const Verdict& verdict, const Rendering& how);
std::string verdict_json(const Verdict& verdict, const Rendering& how);
std::string verdict_github(const Verdict& verdict, const Rendering& how);

std::string diff_text(const Comparison& comparison, std::span<const By> by, const Rendering& how);
std::string diff_markdown(const Comparison& comparison, std::span<const By> by, const Rendering& how);
std::string diff_json(const Comparison& comparison, std::span<const By> by, const Rendering& how);

struct VerdictFormat {
  const char* name;
  std::string (*render)(const Verdict&, const Rendering&);
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
inline constexpr std::array<DiffFormat, 3> kDiffFormats = {
    {{"text", diff_text}, {"markdown", diff_markdown}, {"json", diff_json}}};

}  // namespace tapelens::compare
