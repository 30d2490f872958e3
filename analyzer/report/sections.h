// Sections of a report, as each format writes them: the modules, the rewrites of the run, the allocator.
#pragma once

#include <string>
#include <vector>

#include "analyzer/peak/rewritten.h"
#include "analyzer/report/modules.h"
#include "analyzer/report/report.h"
#include "analyzer/text/json.h"
#include "analyzer/text/layout.h"

namespace tapelens::report {

void add_modules(text::Page& page, const std::vector<ModuleTable>& tables);
std::string modules_markdown(const std::vector<ModuleTable>& tables, size_t rows);
text::Json modules_json(const std::vector<ModuleTable>& tables);

// ---- the rewrites of the recorded run; empty if the run had none
void add_rewritten(text::Page& page, const peak::Rewritten& rewritten);
std::string rewritten_table(const peak::Rewritten& rewritten);  // Markdown
// `saved_peak`: Report::saved_peak.
text::Json rewritten_json(const peak::Rewritten& rewritten, Bytes saved_peak);

// ---- the memory that an allocator reserves, under other conditions; both functions require `report.advice`

// The reserved bytes under other conditions, and the changes that make the recording fit. Adds no text for a device
// whose allocator reports no segments.
void add_allocator(text::Page& page, const Report& report);
// One sentence, if the segments take far more than the peak and a setting of the allocator helps; else empty.
std::string reserved_headline(const Report& report);

}  // namespace tapelens::report
