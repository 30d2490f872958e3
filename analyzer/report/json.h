// Common functions of the JSON renderings.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "analyzer/report/report.h"

namespace tapelens::report {

using Json = nlohmann::ordered_json;
inline constexpr int kSchemaVersion = 1;

Json recording_json(const RecordingFacts& facts);
Json frame_json(const Frame& frame);
Json stack_json(const std::vector<Frame>& frames);
// The keys `advice` and `findings`.
void add_advice(Json& object, const Report& r);
std::string dumped(const Json& value);

}  // namespace tapelens::report
