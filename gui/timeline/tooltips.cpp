#include "gui/timeline/tooltips.h"

#include <algorithm>

#include "analyzer/model/attribution.h"
#include "analyzer/report/format.h"
#include "gui/models/facts.h"
#include "gui/models/visible_text.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

// Rows of a name and what it is; rows of nothing are left out.
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
                                      .arg(visible(report::plural(f.uses.size(), "time", "times")))
                                      .arg(backward)
                                      .arg(f.uses.back().op, time_words(f.uses.back().when.begin)));
  }
  return rows.html();
}

QString column_tip(const Scene& scene, size_t at) {
  const picture::Column& column = scene.columns[at];
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
                                   visible(report::percent_text(Bytes{column.bytes[group]}, column.most))));
  }
  if (!scene.lowered.empty()) rows.add(QObject::tr("with what is ticked"), bytes_words(scene.lowered[at]));
  return rows.html();
}

QString step_tip(const Session& session, const Interval& step, Time time) {
  const Subject& subject = session.subject();
  const auto index = &step - subject.of.bands.steps.data();
  Rows rows(QObject::tr("step %1").arg(index));
  const auto totals = subject.timeline.allocated(step);
  rows.add(QObject::tr("phase"), model::phase_name(subject.of.phases.at(time)));
  rows.add(QObject::tr("time"), span_words(step));
  rows.add(QObject::tr("peak"), bytes_words(subject.timeline.largest(step).bytes));
  rows.add(
      QObject::tr("allocated"),
      QObject::tr("%1 in %2")
          .arg(bytes_words(totals.bytes), visible(report::plural(totals.allocations, "allocation", "allocations"))));
  return rows.html();
}

QString span_tip(const Session& session, uint32_t span) {
  const Process& p = session.subject().of.process;
  const Text& text = session.document()->text();
  const uint32_t row = picture::Row::row(span);
  const picture::SpanKind kind = picture::Row::kind(span);
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
            .arg(bytes_words(totals.bytes), visible(report::plural(totals.allocations, "allocation", "allocations"))));
  }
  return rows.html();
}

}  // namespace tapelens::gui
