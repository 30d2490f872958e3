// What was rewritten, as the renderings of a report show it. Nothing where there is nothing.
#pragma once

#include <string>

#include "analyzer/report/json.h"
#include "analyzer/report/layout.h"
#include "analyzer/report/rewritten.h"

namespace tapelens::report {

void add_rewritten(Page& page, const Rewritten& rewritten);
std::string rewritten_table(const Rewritten& rewritten);  // Markdown
Json rewritten_json(const Rewritten& rewritten);

}  // namespace tapelens::report
