// Reads a recording into the model. Only the columns that an analysis uses are decoded.
//
// After loading, every id names an existing row, times do not decrease, and each parent precedes its child: no analysis
// can read outside a column or walk in a circle. A table that breaks this is left out, and the rest is still read.
// LeftOut names the table and the reason, and every report shows it.
#pragma once

#include "analyzer/model/model.h"
#include "analyzer/model/text.h"
#include "trace/recording.h"

namespace tapelens::model {

Text load_text(const trace::Recording& recording);
Process load_process(const trace::Recording& recording, const Text& text, trace::ProcessIndex process);

}  // namespace tapelens::model
