#include "gui/live/live_tables.h"

#include <algorithm>

#include "gui/models/facts.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

QVariant aligned_right(bool is_right) {
  return static_cast<int>((is_right ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
}

}  // namespace

void LiveTable::show_figures(std::shared_ptr<const LiveFigures> figures) {
  const int now = figures == nullptr ? 0 : count(*figures), before = rows_;
  const std::shared_ptr<const LiveFigures> shown = figures_;
  const auto show = [&] {
    rows_ = now;
    figures_ = figures;
  };
  if (now < before) {
    beginRemoveRows({}, now, before - 1);
    show();
    endRemoveRows();
  } else if (now > before) {
    beginInsertRows({}, before, now - 1);
    show();
    endInsertRows();
  } else {
    show();
  }
  if (shown == nullptr || figures == nullptr) return;
  for (int row = 0; row < std::min(now, before); ++row) {
    for (int column = 0; column < columnCount(); ++column) {
      if (is_same(*shown, *figures, static_cast<size_t>(row), column)) continue;
      const QModelIndex changed = index(row, column);
      Q_EMIT dataChanged(changed, changed);
    }
  }
  if (shown->is_recording != figures->is_recording) Q_EMIT headerDataChanged(Qt::Horizontal, 0, columnCount() - 1);
}

bool LiveHolders::is_same(const LiveFigures& a, const LiveFigures& b, size_t row, int column) const {
  const LiveFigures::Holder &one = a.holders[row], &other = b.holders[row];
  switch (column) {
    case bytes:
      return a.is_recording == b.is_recording && one.live == other.live && one.at_peak == other.at_peak;
    case category:
      return one.kind == other.kind;
    case name:
      return one.name == other.name;
    case line:
      return one.line == other.line;
    default:
      return one.module == other.module;
  }
}

QVariant LiveHolders::data(const QModelIndex& index, int role) const {
  if (role == Qt::TextAlignmentRole) return aligned_right(index.column() == bytes);
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole && role != Qt::DecorationRole) return {};
  const LiveFigures::Holder& row = figures().holders[static_cast<size_t>(index.row())];
  if (role == Qt::DecorationRole) return index.column() == category ? QVariant(theme().category(row.kind)) : QVariant();
  switch (index.column()) {
    case bytes:
      return bytes_words(figures().is_recording ? row.live : row.at_peak);
    case category:
      return category_label(row.kind);
    case name:
      return row.name;
    case line:
      return row.line;
    case module:
      return row.module;
    default:
      return {};
  }
}

QVariant LiveHolders::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole) return aligned_right(section == bytes);
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case bytes:
      return rowCount() == 0 || figures().is_recording ? tr("now") : tr("at the peak");
    case category:
      return tr("category");
    case name:
      return tr("held by");
    case line:
      return tr("line");
    case module:
      return tr("module");
    default:
      return {};
  }
}

bool LiveSteps::is_same(const LiveFigures& a, const LiveFigures& b, size_t row, int column) const {
  const LiveFigures::Step &one = a.last_steps[row], &other = b.last_steps[row];
  switch (column) {
    case step:
      return one.number == other.number;
    case peak:
      return one.peak == other.peak;
    case end:
      return one.end == other.end;
    default:
      return one.change == other.change;
  }
}

QVariant LiveSteps::data(const QModelIndex& index, int role) const {
  if (role == Qt::TextAlignmentRole) return aligned_right(true);
  if (role != Qt::DisplayRole) return {};
  const LiveFigures::Step& row = figures().last_steps[static_cast<size_t>(index.row())];
  switch (index.column()) {
    case step:
      return QString::number(row.number);
    case peak:
      return bytes_words(row.peak);
    case end:
      return bytes_words(row.end);
    case change:
      return row.change ? QVariant(signed_bytes(Bytes{*row.change})) : QVariant();
    default:
      return {};
  }
}

QVariant LiveSteps::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole) return aligned_right(true);
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case step:
      return tr("step");
    case peak:
      return tr("peak");
    case end:
      return tr("at its end");
    case change:
      return tr("growth");
    default:
      return {};
  }
}

}  // namespace tapelens::gui
