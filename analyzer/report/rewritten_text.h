// The rewrites of the recorded run, for the renderings of a report. Empty if the run had none.
#pragma once

#include <string>

#include "analyzer/peak/rewritten.h"
#include "analyzer/report/json.h"
#include "analyzer/report/layout.h"

namespace tapelens::report {

void add_rewritten(Page& page, const peak::Rewritten& rewritten);
std::string rewritten_table(const peak::Rewritten& rewritten);  // Markdown
// `saved_peak`: Report::saved_peak.
Json rewritten_json(const peak::Rewritten& rewritten, Bytes saved_peak);

}  // namespace tapelens::report
