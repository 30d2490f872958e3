#include "gui/timeline/legend.h"

#include <QPainter>
#include <algorithm>

#include "gui/models/facts.h"
#include "gui/timeline/scene.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {
constexpr int kSwatch = 12;
constexpr int64_t kLeastShare = 1024;  // fraction of the peak
constexpr int kMostWords = 44;         // characters of a group's name
}  // namespace

Legend::Legend(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
  setAccessibleName(tr("Legend"));
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Minimum);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  const auto refresh = [this] {
    updateGeometry();
    update();
  };
  connect(&session, &Session::opened, this, refresh);
  connect(&session, &Session::closed, this, refresh);
  connect(&session, &Session::made, this, refresh);
  connect(&session, &Session::viewChanged, this, [this, refresh](const ViewState& before) {
    if (before.by != session_.view().by || before.subject != session_.view().subject) refresh();
  });
}

std::vector<Legend::Entry> Legend::entries(int width) const {
  std::vector<Entry> out;
  if (session_.document() == nullptr) return out;
  const Subject& subject = session_.subject();
  const picture::Curve& curve = curve_of(session_, subject);
  const auto& grouping = curve.grouping();
  const uint32_t events = subject.timeline.event_of(subject.device.when.last_allocation);
  auto at_peak = curve.bytes_after(std::min(events + 1, subject.timeline.events()));
  if (grouping.by == peak::By::category) {  // texts and numbers are those of the report
    at_peak = {};
    for (const peak::Category& category : peak::categories(subject.peak))
      at_peak[static_cast<size_t>(category.kind)] = category.bytes.value;
  }
  const QFontMetrics metrics(small_font());
  int x = 0, y = 0;
  const int height = metrics.height() + 2;
  const auto add = [&](const QString& words, uint8_t group) {
    const int wide = kSwatch + 5 + metrics.horizontalAdvance(words);
    if (x > 0 && x + wide > width) {
      x = 0;
      y += height;
    }
    out.push_back({words, QRect(x, y, wide, height), group});
    x += wide + 2 * kGap;
  };
  for (uint8_t group = 0; group < grouping.names.size(); ++group) {
    // A group that is never a pixel high has no visible color to explain.
    const bool is_drawn = std::ranges::find(grouping.stacked, group) != grouping.stacked.end() &&
                          curve.most_of(group).value >= subject.device.peak.value / kLeastShare;
    if (!is_drawn && at_peak[group] == 0) continue;
    QString name = group_label(grouping, group);
    if (name.size() > kMostWords) name = name.left(kMostWords / 2) + QChar(0x2026) + name.right(kMostWords / 2);
    add(at_peak[group] == 0 ? name : name + "  " + bytes_words(Bytes{at_peak[group]}), group);
  }
  if (subject.lines) {
    const Time at = subject.device.when.time;
    const peak::DeviceMemory& memory = subject.lines->memory;
    add(tr("allocated") + "  " + bytes_words(Bytes{memory.allocated.at(at)}), kAllocated);
    if (!subject.lines->reserved.is_flat())
      add(tr("reserved") + "  " + bytes_words(Bytes{memory.reserved.at(at)}), kReserved);
  }
  return out;
}

QSize Legend::sizeHint() const { return {400, QFontMetrics(small_font()).height() + 2}; }

int Legend::heightForWidth(int width) const {
  const auto all = entries(width);
  return all.empty() ? sizeHint().height() : all.back().where.bottom() + 1;
}

void Legend::paintEvent(QPaintEvent*) {
  QPainter p(this);
  p.setFont(small_font());
  const auto all = entries(width());
  if (all.empty()) return;
  const peak::By by = curve_of(session_, session_.subject()).grouping().by;
  PainterSurface surface(p);
  for (const Entry& entry : all) {
    const QRect swatch(entry.where.left(), entry.where.center().y() - kSwatch / 2, kSwatch, kSwatch);
    if (entry.group == kAllocated || entry.group == kReserved) {
      const bool is_reserved = entry.group == kReserved;
      const int y = swatch.center().y();
      p.fillRect(QRect(swatch.left(), y, kSwatch, is_reserved ? 2 : 1), is_reserved ? theme().reserved : theme().text);
    } else {
      surface.fill(swatch, group_ground(by, entry.group));
      p.setPen(theme().line);
      p.setBrush(Qt::NoBrush);
      p.drawRect(swatch.adjusted(0, 0, -1, -1));
    }
    p.setPen(theme().text);
    p.drawText(entry.where.adjusted(kSwatch + 5, 0, 2, 0), Qt::AlignLeft | Qt::AlignVCenter, entry.words);
  }
}

}  // namespace tapelens::gui
