// The memory that an allocator reserves, under other conditions. Both functions require `report.advice`.
#pragma once

#include <string>

#include "analyzer/report/report.h"
#include "analyzer/text/layout.h"

namespace tapelens::report {

// The reserved bytes under other conditions, and the changes that make the recording fit. Adds no text for a device
// whose allocator reports no segments.
void add_allocator(text::Page& page, const Report& report);
// One sentence, if the segments take far more than the peak and a setting of the allocator helps; else empty.
std::string reserved_headline(const Report& report);

}  // namespace tapelens::report
