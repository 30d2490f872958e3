#include "analyzer/model/threads.h"

namespace tapelens::model {

Threads load_threads(const trace::Recording& r, const Process& process, trace::ProcessIndex index) {
  Threads out;
  out.os_id.raw = r.column(trace::column<trace::table::Threads>.os_id, index);
  const auto fill = [&](std::vector<uint16_t>& raw, std::vector<uint16_t> column, uint32_t rows) {
    raw = std::move(column);
    raw.resize(size_t{rows} + 1);
    for (uint16_t& thread : raw) {
      if (thread > out.os_id.rows()) thread = 0;
    }
  };
  fill(out.of_operator.raw, r.column(trace::column<trace::table::Operators>.thread, index), process.operators.rows());
  fill(out.of_module_call.raw, r.column(trace::column<trace::table::ModuleCalls>.thread, index),
       process.module_calls.rows());
  fill(out.of_evaluation.raw, r.column(trace::column<trace::table::Evaluations>.thread, index),
       process.evaluations.rows());
  return out;
}

}  // namespace tapelens::model
