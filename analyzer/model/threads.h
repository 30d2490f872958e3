// The thread of each operator, module call and evaluation. Separate from the model, because only pictures need it.
#pragma once

#include "analyzer/model/model.h"
#include "trace/recording.h"

namespace tapelens::model {

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
