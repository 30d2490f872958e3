#include "gui/timeline/lanes.h"

#include <algorithm>

#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {
constexpr int kLeastCurve = 120, kLeastBlocks = 140;
}

Lanes::Lanes(const Session& session, QSize size, int text_height, int gutter_width) : gutter(gutter_width) {
  const int left = gutter, width = std::max(1, size.width() - gutter - kGap);
  row_height = text_height + 1;
  static const std::vector<picture::Track> kNone;
  const auto& tracks = session.has(Part::tracks) ? session.subject().of.tracks->tracks() : kNone;
  const int other_height = 2 * text_height;
  const size_t subjects = session.document()->subjects().size();
  int fixed = kGap;
  fixed += 2 * text_height + kGap;        // minimap
  fixed += text_height + 6;               // axis
  fixed += 2 * (text_height + 2) + kGap;  // steps, phases
  fixed += static_cast<int>(subjects - 1) * (other_height + kGap);
  for (const picture::Track& track : tracks) fixed += static_cast<int>(track.rows.size()) * row_height + kGap;
  fixed += 2 * kGap;
  least_height = fixed + kLeastCurve + kLeastBlocks;
  const int rest = std::max(size.height() - fixed, kLeastCurve + kLeastBlocks);

  int y = kGap;
  const auto take = [&](int height, int gap) {
    const QRect r(left, y, width, height);
    y += height + gap;
    return r;
  };
  minimap = take(2 * text_height, kGap);
  axis = take(text_height + 6, 0);
  bands = take(2 * (text_height + 2), kGap);
  curve = take(rest * 9 / 20, kGap);
  blocks = take(rest - rest * 9 / 20, kGap);
  // Other devices of this process first, then those of other processes.
  const Document& document = *session.document();
  for (const bool of_this : {true, false}) {
    for (size_t i = 0; i < subjects; ++i) {
      if (i == session.view().subject || (&document.subject(i).of == &session.subject().of) != of_this) continue;
      others.push_back({take(other_height, kGap), i});
    }
  }
  for (const picture::Track& track : tracks) {
    threads.push_back({take(static_cast<int>(track.rows.size()) * row_height, kGap), &track});
  }
}

int Lanes::bottom() const {
  return !threads.empty()  ? threads.back().where.bottom()
         : !others.empty() ? others.back().where.bottom()
                           : blocks.bottom();
}

LaneKind Lanes::at(QPoint place) const {
  const std::pair<const QRect*, LaneKind> all[] = {{&minimap, LaneKind::minimap},
                                                   {&axis, LaneKind::axis},
                                                   {&bands, LaneKind::bands},
                                                   {&curve, LaneKind::curve},
                                                   {&blocks, LaneKind::blocks}};
  for (const auto& [where, lane] : all) {
    if (where->contains(place)) return lane;
  }
  for (const Other& other : others) {
    if (other.where.contains(place)) return LaneKind::other;
  }
  for (const Thread& thread : threads) {
    if (thread.where.contains(place)) return LaneKind::track;
  }
  return LaneKind::none;
}

}  // namespace tapelens::gui
