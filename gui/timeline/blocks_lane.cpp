// Allocations as blocks, in the colors of the curve; those that do not match the search are dimmed.
#include <algorithm>

#include "gui/models/facts.h"
#include "gui/timeline/scene.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

// The least width of a block with a label, in device independent pixels.
constexpr int kLabelWidth = 64;
constexpr size_t kMostLabels = 300;

struct Label {
  AllocationId allocation;
  QRect where;  // device independent
  QColor ground;
};

QString label_of(const Scene& scene, AllocationId id) {
  const auto facts = facts_of(*scene.session.document(), scene.subject, id, scene.session.has(Part::relations), 1);
  return facts.what + "  " + bytes_words(facts.bytes);
}

}  // namespace

void paint_blocks(Surface& surface, const Scene& scene, const picture::ByteAxis& bytes, const QRect& lane) {
  const picture::Blocks& blocks = *scene.subject.blocks;
  const QRect area = surface.device(lane);
  const double ratio = surface.ratio();

  const std::vector<uint8_t>& group = scene.curve.grouping().of;
  const SearchResult* found = scene.session.found().get();
  const QFontMetrics metrics(small_font());
  const std::vector<picture::Break> breaks = picture::breaks(scene.axis);
  std::vector<Label> labels;
  const picture::Pixel edge = pixel(theme().surface);
  blocks.visit(scene.axis, bytes, scene.columns, [&](const picture::Blocks::Rectangle& r) {
    const uint8_t g = group[r.allocation.value];
    const bool is_dimmed = found != nullptr && found->is_allocation[r.allocation.value] == 0;
    const int y0 = std::max(r.y0, 0), y1 = std::min(r.y1, area.height());
    if (y0 >= y1) return;
    const QRect where(area.left() + r.x0, area.top() + y0, r.x1 - r.x0, y1 - y0);
    surface.fill(where, is_dimmed ? scene.dimmed[g] : scene.grounds[g]);
    // Draws an edge if the block is large enough, to separate neighbors of one color.
    if (where.height() > 3) surface.fill(QRect(where.left(), where.top(), where.width(), 1), {edge, 0, {}});
    if (where.width() > 3) surface.fill(QRect(where.left(), where.top(), 1, where.height()), {edge, 0, {}});
    if (where.width() < kLabelWidth * ratio || where.height() < metrics.height() * ratio) return;
    if (labels.size() >= kMostLabels || is_dimmed) return;
    // The bands of pauses are drawn over the blocks.
    const auto [x0, x1] = picture::between_breaks(breaks, r.x0, r.x1, static_cast<int>(kLabelWidth * ratio));
    labels.push_back({r.allocation,
                      QRect(static_cast<int>((area.left() + x0) / ratio) + 4, static_cast<int>(where.top() / ratio),
                            static_cast<int>((x1 - x0) / ratio) - 8, static_cast<int>(where.height() / ratio)),
                      QColor(scene.grounds[g].pixel)});
  });
  QPainter& p = surface.painter();
  p.setFont(small_font());
  for (const Label& label : labels) {
    p.setPen(text_on(label.ground));
    const QRect line(label.where.left(), label.where.center().y() - metrics.height() / 2, label.where.width(),
                     metrics.height());
    p.drawText(line, Qt::AlignLeft | Qt::AlignVCenter,
               fitted(metrics, label_of(scene, label.allocation), line.width()));
  }
  // A picture of the whole does not show small allocations, which are above all others; a thin line indicates them.
  if (blocks.has_small() && bytes.end <= blocks.small_from())
    p.fillRect(QRect(lane.left(), lane.top(), lane.width(), kSmallLine), theme().line);
}

}  // namespace tapelens::gui
