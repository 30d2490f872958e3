// The rewrites of the recorded run, for the renderings of a report. Empty if the run had none.
#pragma once

#include <string>

#include "analyzer/peak/rewritten.h"
#include "analyzer/text/json.h"
#include "analyzer/text/layout.h"

namespace tapelens::report {

void add_rewritten(text::Page& page, const peak::Rewritten& rewritten);
std::string rewritten_table(const peak::Rewritten& rewritten);  // Markdown
// `saved_peak`: Report::saved_peak.
text::Json rewritten_json(const peak::Rewritten& rewritten, Bytes saved_peak);

}  // namespace tapelens::report
