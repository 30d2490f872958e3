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

// ---- the thread of each operator, module call and evaluation: separate from the model, because only pictures need it
using trace::ThreadId;

struct Threads {
  IdColumn<ThreadId, uint32_t> os_id;  // gettid()
  IdColumn<OperatorId, ThreadId, uint16_t> of_operator;
  IdColumn<ModuleCallId, ThreadId, uint16_t> of_module_call;
  IdColumn<EvaluationId, ThreadId, uint16_t> of_evaluation;
};

// Columns as long as the process' tables; 0 for a thread without a name in the recording.
Threads load_threads(const trace::Recording& recording, const Process& process, trace::ProcessIndex index);

}  // namespace tapelens::model
