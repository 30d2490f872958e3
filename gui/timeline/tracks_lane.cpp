// Modules, operators and backward nodes of one thread, nested.
#include <algorithm>

#include "gui/models/visible_text.h"
#include "gui/timeline/scene.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

constexpr int kLabelWidth = 28;
constexpr size_t kMostLabels = 600;

model::StringId name_id(const Process& p, const Text& text, uint32_t span) {
  const uint32_t row = picture::TrackRow::row(span);
  switch (picture::TrackRow::kind(span)) {
    case picture::SpanKind::module_call:
      return text.module_path[p.module_calls.module[model::ModuleCallId{row}]];
    case picture::SpanKind::op:
      return p.operators.name[model::OperatorId{row}];
    case picture::SpanKind::evaluation:
      break;
  }
  return p.nodes.type[p.evaluations.node[model::EvaluationId{row}]];
}

// The last whole parts of a module's path that fit; the row above shows the first parts.
QString last_parts(const QFontMetrics& metrics, QString path, int width) {
  while (metrics.horizontalAdvance(path) > width && path.contains('.')) path = path.section('.', 1);
  return path;
}

}  // namespace

void paint_track(Surface& surface, const Scene& scene, const picture::Track& track, const QRect& lane, int row_height) {
  const Process& process = scene.subject.of.process;
  const Text& text = scene.session.document()->text();
  const QRect area = surface.device(lane);
  const double ratio = surface.ratio();
  const picture::Pixel edge = pixel(theme().surface);
  QPainter& p = surface.painter();
  p.setFont(small_font());
  const QFontMetrics metrics = p.fontMetrics();
  struct Label {
    QRect where;
    std::string_view name;
    QColor ground;
    bool is_module;
  };
  std::vector<Label> labels;
  for (size_t i = 0; i < track.rows.size(); ++i) {
    const int top = area.top() + surface.device(static_cast<double>(i) * row_height);
    const int height = surface.device(row_height) - 1;
    picture::Tracks::visit(track.rows[i], scene.axis, [&](const picture::Tracks::Piece& piece) {
      Ground ground = scene.name_ground(name_id(process, text, piece.id));
      if (piece.is_several) ground.pattern = picture::Pattern::level;
      const QRect where(area.left() + piece.x0, top, piece.x1 - piece.x0, height);
      surface.fill(where, ground);
      if (where.width() > 3) surface.fill(QRect(where.left(), where.top(), 1, where.height()), {edge, 0, {}});
      if (where.width() < kLabelWidth * ratio || labels.size() >= kMostLabels) return;
      labels.push_back({QRect(static_cast<int>(where.left() / ratio) + 3, lane.top() + static_cast<int>(i) * row_height,
                              static_cast<int>(where.width() / ratio) - 5, row_height - 1),
                        picture::span_name(process, text, piece.id), QColor(ground.pixel),
                        picture::TrackRow::kind(piece.id) == picture::SpanKind::module_call});
    });
  }
  for (const Label& label : labels) {
    p.setPen(text_on(label.ground));
    QString name = visible(label.name);
    if (label.is_module) name = last_parts(metrics, name, label.where.width());
    p.drawText(label.where, Qt::AlignLeft | Qt::AlignVCenter, fitted(metrics, name, label.where.width()));
  }
}

}  // namespace tapelens::gui
