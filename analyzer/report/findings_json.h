// The findings of a report as JSON. Both functions require `report.advice`.
#pragma once

#include <string>

#include "analyzer/report/report.h"
#include "analyzer/text/json.h"

namespace tapelens::report {

std::string advice_json(const Report& report);  // `recording`, `advice` and `findings` of the report's JSON
// The keys `advice` and `findings`.
void add_advice(text::Json& object, const Report& report);

}  // namespace tapelens::report
