// The report as one HTML page, which needs no other file and no network. html/ has its skeleton, style and script;
// html_data.cpp makes its data.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/report/report.h"
#include "analyzer/text/json.h"

namespace tapelens::report {

inline constexpr size_t kMostPageBytes = size_t{2} << 20;

// Limits on the parts of a recording in a page. The page counts the omitted parts.
struct PageLimits {
  size_t blocks = 4000;   // allocations alive at the moment
  size_t findings = 100;  // with all facts of each
  size_t what_ifs = kMostWhatIfs;
  unsigned columns = 400;  // width of a name

  bool is_least() const { return blocks == 0 && findings == 0 && what_ifs == 0 && columns <= 100; }
  PageLimits half() const { return {blocks / 2, findings / 2, what_ifs / 2, columns > 100 ? columns / 2 : columns}; }
};

// The curve of memory against added time (html_fit.cpp). Null: no rewrite lowers the memory.
text::Json fit_data(const Report& report);
// Requires Report::overview.
text::Json page_data(const Report& report, const PageLimits& limits, std::string_view version);
// Has at most kMostPageBytes for any recording.
std::string html_page(const Report& report, std::string_view version);

}  // namespace tapelens::report
