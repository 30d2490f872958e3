// The context menu of the timeline.
#include <QClipboard>
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QMenu>
#include <QTextDocumentFragment>
#include <QToolTip>

#include "analyzer/model/attribution.h"
#include "gui/models/visible_text.h"
#include "gui/timeline/timeline_view.h"
#include "gui/widgets/context_menu.h"

namespace tapelens::gui {

namespace {

// A module call, an operator, or an evaluated node: that of the operator that made the node.
ContextTarget target_of_span(const Session& session, uint32_t span) {
  const Process& p = session.subject().of.process;
  const Text& text = session.document()->text();
  const uint32_t row = picture::TrackRow::row(span);
  if (picture::TrackRow::kind(span) == picture::SpanKind::module_call) {
    const model::ModuleId module = p.module_calls.module[model::ModuleCallId{row}];
    return {{}, {gui::visible(text.string(text.module_path[module]))}, {}, {}};
  }
  const bool is_evaluation = picture::TrackRow::kind(span) == picture::SpanKind::evaluation;
  const model::OperatorId op =
      is_evaluation ? p.nodes.op[p.evaluations.node[model::EvaluationId{row}]] : model::OperatorId{row};
  if (!op) return {};
  return {{},
          {gui::visible(text.string(text.module_path[module_of(p, op)]))},
          gui::visible(text.string(p.operators.name[op])),
          peak::frame_of(text, source_frame(text, stack_of(p, text, op)))};
}

}  // namespace

void TimelineView::contextMenuEvent(QContextMenuEvent* event) {
  if (!lanes_) return;
  scene();
  QToolTip::hideText();
  QPoint place = event->pos();
  AllocationId allocation = hit().allocation_at(place);
  if (event->reason() == QContextMenuEvent::Keyboard) {  // the menu of the selected allocation
    allocation = session_.view().allocation;
    const QRect block = hit().block_of(allocation);
    place = block.isEmpty() ? lanes_->curve.center() : block.center();
  }
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  if (const QString tip = QTextDocumentFragment::fromHtml(tip_at(place)).toPlainText().trimmed(); !tip.isEmpty())
    menu->addAction(tr("Copy the description"), this, [tip] { QGuiApplication::clipboard()->setText(tip); });
  const uint32_t span = hit().span_at(place);
  const Process& p = session_.subject().of.process;
  const Time end = session_.document()->facts().duration;
  if (allocation) {
    const Interval life{p.allocations.time[allocation], std::min(p.freed(allocation), end)};
    menu->addAction(tr("Zoom to its life"), this, [this, life] { show_interval(life); });
  } else if (span != UINT32_MAX) {
    Interval when = picture::span_time(p, span);
    when.end = std::min(when.end, end);
    menu->addAction(tr("Zoom to it"), this, [this, when] { show_interval(when); });
  } else if (const Interval* step = lanes_->at(place) == LaneKind::bands ? hit().step_at(place) : nullptr) {
    menu->addAction(tr("Zoom to the step"), this, [this, when = *step] { show_interval(when); });
  } else if (lanes_->at(place) == LaneKind::curve) {
    menu->addAction(tr("Show what was alive at this moment"), this, [this, at = hit().highest_at(place.x())] {
      ViewState next = session_.view();
      next.at = at;
      next.page = PageId::peak;
      session_.look(next);
    });
  }
  menu->addAction(tr("Show the whole run\tF"), this, &TimelineView::show_all);
  add_target_entries(*menu, session_,
                     allocation           ? target_of(session_, allocation)
                     : span != UINT32_MAX ? target_of_span(session_, span)
                                          : ContextTarget());
  menu->popup(mapToGlobal(place));
}

}  // namespace tapelens::gui
