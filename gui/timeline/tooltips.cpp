#include <algorithm>

#include "analyzer/model/attribution.h"
#include "analyzer/text/format.h"
#include "gui/models/facts.h"
#include "gui/models/out_of_memory.h"
#include "gui/models/visible_text.h"
#include "gui/timeline/scene.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

// A table of names and values; rows with an empty value are left out.
class Rows {
 public:
  explicit Rows(const QString& title) : html_("<b>" + title.toHtmlEscaped() + "</b><table cellspacing=0>") {}
  void add(const QString& name, const QString& value) {
    if (value.isEmpty()) return;
    html_ += QString("<tr><td style='color:%1; padding-right:10px'>%2</td><td style='white-space:pre'>%3</td></tr>")
                 .arg(theme().faint.name(), name.toHtmlEscaped(), value.toHtmlEscaped());
  }
  QString html() const { return html_ + "</table>"; }

 private:
  QString html_;
};

QString span_words(Interval when) {
  return QString::fromUtf8("%1 – %2 (%3)")
      .arg(time_words(when.begin), time_words(when.end), time_words(Time{when.end.ns - when.begin.ns}));
}

constexpr size_t kMostSaves = 4;

}  // namespace

QString allocation_tip(const Session& session, AllocationId allocation) {
  const auto f = facts_of(*session.document(), session.subject(), allocation, session.has(Part::relations));
  Rows rows(bytes_words(f.bytes) + "  " + f.what);
  rows.add(QObject::tr("shape"), f.layout);
  rows.add(QObject::tr("made by"), f.op);
  rows.add(QObject::tr("module"), f.module);
  rows.add(QObject::tr("line"), f.source);
  rows.add(QObject::tr("block"), f.block);
  rows.add(QObject::tr("alive"), span_words(f.life) + (f.is_freed ? "" : QObject::tr(", never freed")));
  for (size_t i = 0; i < std::min(f.saves.size(), kMostSaves); ++i) {
    const auto& save = f.saves[i];
    rows.add(i == 0 ? QObject::tr("saved") : " ",
             QObject::tr("%1 at %2, %3")
                 .arg(save.field, time_words(save.time),
                      save.released == model::kNever ? QObject::tr("never released")
                                                     : QObject::tr("released at %1").arg(time_words(save.released))));
  }
  if (f.saves.size() > kMostSaves) rows.add(" ", QObject::tr("and %1 more saves").arg(f.saves.size() - kMostSaves));
  if (!f.uses.empty()) {
    const auto backward = std::ranges::count_if(f.uses, &AllocationFacts::Use::is_backward);
    rows.add(QObject::tr("used"), QObject::tr("%1, %2 in the backward; last by %3 at %4")
                                      .arg(visible(text::plural(f.uses.size(), "time", "times")))
                                      .arg(backward)
                                      .arg(f.uses.back().op, time_words(f.uses.back().when.begin)));
  }
  return rows.html();
}

QString small_tip(const Subject& subject) {
  const Bytes each{std::max<int64_t>(1, subject.device.peak.value / picture::Blocks::kSmallShare)};
  Rows rows(QObject::tr("Small allocations are not shown"));
  rows.add(QObject::tr("each"), QObject::tr("less than %1").arg(bytes_words(each)));
  rows.add(QObject::tr("to see them"), QObject::tr("Ctrl and the wheel, outwards"));
  return rows.html();
}

QString column_tip(const Scene& scene, size_t at) {
  const picture::PixelColumn& column = scene.columns[at];
  const Time time = scene.subject.timeline.moment_after_first(column.events).time;
  Rows rows(QObject::tr("%1 alive at %2").arg(bytes_words(column.most), time_words(time)));
  const auto& grouping = scene.curve.grouping();
  std::vector<uint8_t> order;
  for (uint8_t group = 0; group < grouping.names.size(); ++group) {
    if (column.bytes[group] > 0) order.push_back(group);
  }
  std::ranges::sort(order, [&](uint8_t a, uint8_t b) { return column.bytes[a] > column.bytes[b]; });
  for (const uint8_t group : order) {
    rows.add(group_label(grouping, group),
             QString("%1  %2").arg(bytes_words(Bytes{column.bytes[group]}),
                                   visible(text::percent_text(Bytes{column.bytes[group]}, column.most))));
  }
  if (const auto& lines = scene.subject.lines) {
    const peak::DeviceMemory& memory = lines->memory;
    rows.add(QObject::tr("allocated"), bytes_words(Bytes{memory.allocated.at(time)}));
    if (const int64_t waiting = memory.waiting.at(time); waiting > 0) {
      rows.add(QObject::tr("active"),
               QObject::tr("%1: %2 more wait for a stream")
                   .arg(bytes_words(Bytes{memory.allocated.at(time) + waiting}), bytes_words(Bytes{waiting})));
    }
    if (!lines->reserved.is_flat()) rows.add(QObject::tr("reserved"), bytes_words(Bytes{memory.reserved.at(time)}));
  }
  if (!scene.lowered.empty()) rows.add(QObject::tr("with what is ticked"), bytes_words(scene.lowered[at]));
  return rows.html();
}

QString break_tip(const Scene& scene, int column) {
  for (const picture::Break& one : picture::breaks(scene.axis)) {
    if (column < one.x0 || column >= one.x1) continue;
    Rows rows(QObject::tr("Pause of %1").arg(time_words(Time{one.pause.end.ns - one.pause.begin.ns})));
    rows.add(QObject::tr("time"), span_words(one.pause));
    rows.add(QObject::tr("alive"),
             bytes_words(scene.subject.timeline.live(scene.subject.timeline.at(one.pause.begin))));
    return rows.html() + QObject::tr("Drawn narrow: nothing happens on this device in it.");
  }
  return {};
}

QString subject_tip(const Subject& subject) {
  Rows rows(subject.name);
  rows.add(QObject::tr("peak"), bytes_words(subject.device.peak));
  if (subject.lines) {
    rows.add(QObject::tr("allocated at most"), bytes_words(subject.lines->memory.allocated_peak));
    if (!subject.lines->reserved.is_flat())
      rows.add(QObject::tr("reserved at most"), bytes_words(subject.lines->memory.reserved_peak));
  }
  if (!subject.out_of_memory.empty()) {
    rows.add(QObject::tr("out of memory"), visible(text::plural(subject.out_of_memory.size(), "time", "times")));
  }
  return rows.html() + QObject::tr("Click to look at this device");
}

QString out_of_memory_tip(const Session& session, model::OutOfMemoryId request) {
  const auto f = out_of_memory_facts(*session.document(), session.subject(), request);
  Rows rows(QObject::tr("out of memory at %1").arg(time_words(f.time)));
  rows.add(QObject::tr("requested"), bytes_words(f.bytes));
  rows.add(QObject::tr("by"), f.op);
  rows.add(QObject::tr("module"), f.module);
  rows.add(QObject::tr("line"), f.source);
  rows.add(QObject::tr("allocated"), bytes_words(f.allocated));
  rows.add(QObject::tr("reserved"), bytes_words(f.reserved));
  if (f.free) rows.add(QObject::tr("free on the device"), bytes_words(*f.free));
  return rows.html();
}

QString step_tip(const Session& session, const Interval& step, Time time) {
  const Subject& subject = session.subject();
  const auto index = subject.of.bands.first_step + (&step - subject.of.bands.steps.data());
  Rows rows(QObject::tr("step %1").arg(index));
  const auto totals = subject.timeline.allocated(step);
  rows.add(QObject::tr("phase"), model::phase_name(subject.of.phases.at(time)));
  rows.add(QObject::tr("time"), span_words(step));
  rows.add(QObject::tr("peak"), bytes_words(subject.timeline.largest(step).bytes));
  rows.add(QObject::tr("allocated"),
           QObject::tr("%1 in %2")
               .arg(bytes_words(totals.bytes), visible(text::plural(totals.allocations, "allocation", "allocations"))));
  return rows.html();
}

QString span_tip(const Session& session, uint32_t span) {
  const Process& p = session.subject().of.process;
  const Text& text = session.document()->text();
  const uint32_t row = picture::TrackRow::row(span);
  const picture::SpanKind kind = picture::TrackRow::kind(span);
  Rows rows(visible(picture::span_name(p, text, span)));
  Interval when = picture::span_time(p, span);
  when.end = std::min(when.end, p.duration);
  model::OperatorId op;
  switch (kind) {
    case picture::SpanKind::module_call:
      rows.add(QObject::tr("module"),
               visible(text.string(text.module_type[p.module_calls.module[model::ModuleCallId{row}]])));
      break;
    case picture::SpanKind::evaluation:
      op = p.nodes.op[p.evaluations.node[model::EvaluationId{row}]];
      rows.add(QObject::tr("node made by"), visible(text.string(p.operators.name[op])));
      break;
    case picture::SpanKind::op:
      op = model::OperatorId{row};
      rows.add(QObject::tr("operator"), visible(text.string(p.operators.name[op])));
      break;
  }
  if (op) {
    rows.add(QObject::tr("in"), visible(text.string(text.module_path[module_of(p, op)])));
    if (const model::FrameId frame = source_frame(text, stack_of(p, text, op)))
      rows.add(QObject::tr("line"), visible(peak::frame_text(text, frame)));
  }
  rows.add(QObject::tr("time"), span_words(when));
  const auto totals = session.subject().timeline.allocated(when);
  if (totals.allocations > 0) {
    rows.add(
        QObject::tr("allocated meanwhile"),
        QObject::tr("%1 in %2")
            .arg(bytes_words(totals.bytes), visible(text::plural(totals.allocations, "allocation", "allocations"))));
  }
  return rows.html();
}

}  // namespace tapelens::gui
