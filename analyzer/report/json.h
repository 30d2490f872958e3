// Common functions of the JSON renderings.
#pragma once

#include <vector>

#include "analyzer/report/report.h"
#include "analyzer/text/json.h"

namespace tapelens::report {

text::Json recording_json(const RecordingFacts& facts);
text::Json frame_json(const Frame& frame);
text::Json stack_json(const std::vector<Frame>& frames);

}  // namespace tapelens::report
