// How the tables of modules are written.
#pragma once

#include <string>
#include <vector>

#include "analyzer/report/json.h"
#include "analyzer/report/layout.h"
#include "analyzer/report/modules.h"

namespace tapelens::report {

void add_modules(Page& page, const std::vector<ModuleTable>& tables);
std::string modules_markdown(const std::vector<ModuleTable>& tables, size_t rows);
Json modules_json(const std::vector<ModuleTable>& tables);

}  // namespace tapelens::report
