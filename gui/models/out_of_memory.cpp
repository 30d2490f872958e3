#include "gui/models/out_of_memory.h"

#include <algorithm>

#include "analyzer/model/attribution.h"
#include "gui/models/facts.h"
#include "gui/models/visible_text.h"

namespace tapelens::gui {

OutOfMemoryFacts out_of_memory_facts(const Document& document, const Subject& subject, model::OutOfMemoryId request) {
  const Process& p = subject.of.process;
  const Text& text = document.text();
  const model::OutOfMemory& all = p.out_of_memory;
  OutOfMemoryFacts f;
  f.time = all.time[request];
  f.bytes = all.bytes[request];
  f.allocated = all.allocated[request];
  f.reserved = all.reserved[request];
  if (all.free[request] != UINT64_MAX) f.free = Bytes{static_cast<int64_t>(all.free[request])};
  f.op = visible(text.string(p.operators.name[all.op[request]]));
  f.module = visible(text.string(text.module_path[module_of(p, request)]));
  if (const model::FrameId frame = source_frame(text, stack_of(p, text, request)))
    f.source = visible(peak::frame_text(text, frame));
  return f;
}

QString out_of_memory_words(const OutOfMemoryFacts& f) {
  QString words = QString("no memory for %1").arg(bytes_words(f.bytes));
  if (!f.op.isEmpty() || !f.source.isEmpty()) words += ", requested";
  if (!f.op.isEmpty()) words += " by " + f.op;
  if (!f.source.isEmpty()) words += " at " + f.source;
  return words;
}

peak::Moment out_of_memory_moment(const Subject& subject, model::OutOfMemoryId request) {
  const Time time = subject.of.process.out_of_memory.time[request];
  peak::Moment moment = subject.timeline.at(time);
  moment.time = time;
  return moment;
}

ViewState at_out_of_memory(const Session& session, model::OutOfMemoryId request) {
  ViewState next = session.view();
  next.at = out_of_memory_moment(session.subject(), request);
  if (!next.range.contains(next.at->time)) {
    next.range = picture::centered(session.subject().scale(next.axis), next.range, next.at->time,
                                   session.document()->facts().duration);
  }
  return next;
}

model::OutOfMemoryId next_out_of_memory(const Session& session, int by) {
  const Subject& subject = session.subject();
  const auto& all = subject.out_of_memory;
  const auto& times = subject.of.process.out_of_memory.time;
  if (all.empty()) return {};
  const auto time_of = [&](model::OutOfMemoryId row) { return times[row]; };
  if (!session.view().at) return by > 0 ? all.front() : all.back();
  const Time now = session.view().at->time;
  if (by > 0) {
    const auto after = std::ranges::upper_bound(all, now, {}, time_of);
    return after == all.end() ? model::OutOfMemoryId{} : *after;
  }
  const auto first = std::ranges::lower_bound(all, now, {}, time_of);
  return first == all.begin() ? model::OutOfMemoryId{} : *(first - 1);
}

}  // namespace tapelens::gui
