// The JSON of a report: its findings, and the parts that several renderings share.
#pragma once

#include <string>
#include <vector>

#include "analyzer/report/report.h"
#include "analyzer/text/json.h"

namespace tapelens::report {

text::Json recording_json(const RecordingFacts& facts);
text::Json frame_json(const Frame& frame);
text::Json stack_json(const std::vector<Frame>& frames);

// ---- the findings; both functions require `report.advice`
std::string advice_json(const Report& report);  // `recording`, `advice` and `findings` of the report's JSON
// The keys `advice` and `findings`.
void add_advice(text::Json& object, const Report& report);

}  // namespace tapelens::report
