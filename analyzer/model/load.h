// Reads a recording into the model. Only the columns that an analysis uses are decoded.
#pragma once

#include "analyzer/model/model.h"
#include "analyzer/model/text.h"
#include "trace/recording.h"
#include "trace/result.h"

namespace tapelens::model {

// Both check that every id names a row that exists, and that what must be earlier is: after them no analysis can read
// outside of a column or walk in a circle. The error says which column; the caller adds the file's name.
trace::Result<Text> load_text(const trace::Recording& recording);
trace::Result<Process> load_process(const trace::Recording& recording, const Text& text, trace::ProcessIndex process);

}  // namespace tapelens::model
