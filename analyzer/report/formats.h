// The formats that `tapelens report` and `tapelens advise` write. A format is defined in the file that renders it, as
// `constinit extern const Format kName`, and listed in formats.cpp; nothing else knows its name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/report/findings.h"
#include "analyzer/report/report.h"

namespace tapelens::report {

// Inputs of a rendering besides the report.
struct Rendering {
  Style style;                           // style.rows for all formats that people read
  std::vector<Rule> rules = {};          // rules of the checks that ran
  check::SourceTree tree = {};           // that findings are located in
  std::string_view version = "unknown";  // of Tapelens
  Extent extent = {};                    // of findings, in text
};

struct Format {
  const char* name;
  // Renders the report, or only its findings (requires `report.advice`). Null: the format cannot.
  std::string (*report)(const Report&, const Rendering&) = nullptr;
  std::string (*advice)(const Report&, const Rendering&) = nullptr;
  size_t rows = 10;                // groups and allocations that a report has, unless the user says how many
  bool is_pictured = false;        // a report needs Report::overview
  bool locates_by_stacks = false;  // findings need the allocations' stacks: Options::top none
};

using Render = decltype(Format::report);
// In the order in which --help names them.
std::span<const Format* const> formats();
// Null: no format has that name.
const Format* format_of(std::string_view name);
// Those that have one or the other: format_names(&Format::report).
std::vector<std::string> format_names(Render Format::*render);

}  // namespace tapelens::report
