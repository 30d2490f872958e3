// The formats that `tapelens report` and `tapelens advise` write. The file that renders a format defines it as
// `constinit extern const Format kName`. formats.cpp lists it; no other code uses its name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/check/sources.h"
#include "analyzer/report/advice_text.h"
#include "analyzer/report/report.h"
#include "analyzer/text/layout.h"

namespace tapelens::report {

// A check as a SARIF rule.
struct Rule {
  std::string id, title, help;
  std::string page;  // Markdown; empty: no page
};

// Requires `report.advice`.
std::string sarif(const Report& report, const std::vector<Rule>& rules, const check::SourceTree& tree,
                  std::string_view version);

// Inputs of a rendering besides the report.
struct Rendering {
  text::Style style;                     // style.rows for all formats that people read
  std::vector<Rule> rules = {};          // rules of the checks that ran
  check::SourceTree tree = {};           // contains the locations of findings
  std::string_view version = "unknown";  // of Tapelens
  EntrySelection selection = {};         // of findings, in text
};

struct Format {
  const char* name;
  // Renders the report, or only its findings (requires `report.advice`). Null: the format cannot.
  std::string (*report)(const Report&, const Rendering&) = nullptr;
  std::string (*advice)(const Report&, const Rendering&) = nullptr;
  size_t rows = 10;                // default number of groups and allocations in a report
  bool joins_equal = false;        // a report needs Options::keeps_equal
  bool is_pictured = false;        // a report needs Report::overview
  bool locates_by_stacks = false;  // findings need the allocations' stacks: Options::top none
};

using Render = decltype(Format::report);
// In the order in which --help names them.
std::span<const Format* const> formats();
// Null: no such format.
const Format* format_of(std::string_view name);
// Names of the formats that have this renderer: format_names(&Format::report).
std::vector<std::string> format_names(Render Format::*render);

}  // namespace tapelens::report
