// Reads a recording into the model. Only the columns that an analysis uses are decoded.
//
// Every id names a row that exists, times do not fall, and what must be earlier is: no analysis can read outside of a
// column or walk in a circle. A table of which that is not true is left out, and the rest is read all the same;
// LeftOut says which table and why, and every report shows it.
#pragma once

#include "analyzer/model/model.h"
#include "analyzer/model/text.h"
#include "trace/recording.h"

namespace tapelens::model {

Text load_text(const trace::Recording& recording);
Process load_process(const trace::Recording& recording, const Text& text, trace::ProcessIndex process);

}  // namespace tapelens::model
