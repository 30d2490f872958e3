// How the tables of modules are written.
#pragma once

#include <string>
#include <vector>

#include "analyzer/report/modules.h"
#include "analyzer/text/json.h"
#include "analyzer/text/layout.h"

namespace tapelens::report {

void add_modules(text::Page& page, const std::vector<ModuleTable>& tables);
std::string modules_markdown(const std::vector<ModuleTable>& tables, size_t rows);
text::Json modules_json(const std::vector<ModuleTable>& tables);

}  // namespace tapelens::report
