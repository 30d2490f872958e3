#include "gui/models/module_tree.h"

#include <QList>
#include <QStringList>
#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "analyzer/text/format.h"
#include "analyzer/text/names.h"
#include "gui/models/visible_text.h"

namespace tapelens::gui {

namespace {

QString bytes_of(int64_t bytes) { return QString::fromStdString(text::bytes_text({bytes})); }

}  // namespace

void ModuleTree::show(std::shared_ptr<const void> owner, const std::vector<report::ModuleTable>* tables) {
  beginResetModel();
  owner_ = std::move(owner);
  tables_ = tables == nullptr || tables->empty() ? nullptr : tables;
  at_ = 0;
  kinds_ = tables_ == nullptr ? std::vector<peak::HolderKind>() : report::columns_of(*tables_);
  build();
  endResetModel();
}

void ModuleTree::show_table(size_t at) {
  if (at == at_) return;
  beginResetModel();
  at_ = at;
  build();
  endResetModel();
}

void ModuleTree::build() {
  nodes_.assign(1, {});
  if (tables_ == nullptr) return;
  std::map<std::string, uint32_t, std::less<>> known;
  for (const report::ModuleRow& row : table()->rows) {
    // "(outside of modules)" is not split into levels.
    const std::string_view path = row.module;
    uint32_t at = 0;
    for (size_t end = 0; end < path.size();) {
      const size_t begin = end == 0 ? 0 : end + 1;
      end = path.starts_with('(') ? path.size() : std::min(path.find('.', begin), path.size());
      const auto [found, is_new] = known.try_emplace(std::string(path.substr(0, end)), nodes_.size());
      if (is_new) {
        Node& made = nodes_.emplace_back();
        made.name = visible(path.substr(begin, end - begin));
        made.path = visible(path.substr(0, end));
        made.parent = at;
        nodes_[at].children.push_back(found->second);
      }
      at = found->second;
    }
    nodes_[at].itself += row.bytes;
    for (; at != 0; at = nodes_[at].parent) nodes_[at].sum.add(row);
  }
  for (Node& each : nodes_) {
    std::ranges::stable_sort(each.children, [&](uint32_t a, uint32_t b) {
      if (nodes_[a].sum.bytes != nodes_[b].sum.bytes) return nodes_[a].sum.bytes > nodes_[b].sum.bytes;
      return text::natural_less(nodes_[a].name.toStdString(), nodes_[b].name.toStdString());
    });
    for (uint32_t place = 0; place < each.children.size(); ++place) nodes_[each.children[place]].place = place;
  }
}

QModelIndex ModuleTree::index(int row, int column, const QModelIndex& parent) const {
  if (!hasIndex(row, column, parent)) return {};
  return createIndex(row, column, quintptr{node(parent).children[static_cast<size_t>(row)]});
}

QModelIndex ModuleTree::parent(const QModelIndex& index) const {
  const uint32_t parent = node(index).parent;
  return parent == 0 ? QModelIndex() : createIndex(static_cast<int>(nodes_[parent].place), module, quintptr{parent});
}

int ModuleTree::rowCount(const QModelIndex& parent) const {
  return parent.column() > 0 ? 0 : static_cast<int>(node(parent).children.size());
}

int ModuleTree::columnCount(const QModelIndex&) const { return kinds + static_cast<int>(kinds_.size()); }

qint64 ModuleTree::number(const Node& node, int column) const {
  if (column < kinds) return node.sum.bytes.value;
  return node.sum.by_kind[static_cast<size_t>(kinds_[static_cast<size_t>(column - kinds)])].value;
}

QString ModuleTree::tip(const Node& node) const {
  QStringList lines{node.path};
  lines << QStringLiteral("%1 in %2")
               .arg(bytes_of(node.sum.bytes.value),
                    visible(text::plural(node.sum.allocations, "allocation", "allocations")));
  if (!node.children.empty() && node.itself.value > 0)
    lines << QStringLiteral("of it %1 in no module below it").arg(bytes_of(node.itself.value));
  return plain_tip(lines.join('\n'));
}

QVariant ModuleTree::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const Node& at = node(index);
  const int column = index.column();
  switch (role) {
    case Qt::DisplayRole: {
      if (column == module) return at.name;
      if (column == shares) return {};
      const qint64 value = number(at, column);
      return value == 0 ? QStringLiteral("-") : bytes_of(value);
    }
    case Qt::EditRole:
      if (column == module) return at.path;
      return column == shares ? QVariant() : QVariant(number(at, column));
    case Qt::AccessibleTextRole: {
      if (column != shares) return data(index, Qt::DisplayRole);
      QStringList said;
      for (int kind = 0; kind < static_cast<int>(kinds_.size()); ++kind) {
        const qint64 value = number(at, kinds + kind);
        if (value == 0) continue;
        said << visible(report::heading(kinds_[static_cast<size_t>(kind)])) + QLatin1Char(' ') + bytes_of(value);
      }
      return said.join(QStringLiteral(", "));
    }
    case Qt::ToolTipRole:
      return tip(at);
    case Qt::TextAlignmentRole:
      return QVariant::fromValue<Qt::Alignment>((column <= shares ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case largest_role:
      return at.sum.largest.value;
    case parts_role: {
      QList<qint64> parts;
      for (int kind = 0; kind < static_cast<int>(kinds_.size()); ++kind) parts << number(at, kinds + kind);
      return QVariant::fromValue(parts);
    }
    case most_role:
      return static_cast<qint64>(nodes_[nodes_[0].children.front()].sum.bytes.value);
    default:
      return {};
  }
}

QVariant ModuleTree::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount({})) return {};
  if (role == Qt::TextAlignmentRole)
    return QVariant::fromValue<Qt::Alignment>((section <= shares ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  if (role != Qt::DisplayRole) return {};
  if (section == module) return QStringLiteral("Module");
  if (section == shares) return QStringLiteral("Shares");
  if (section == bytes) return QStringLiteral("All");
  QString words = visible(report::heading(kinds_[static_cast<size_t>(section - kinds)]));
  return words.isEmpty() ? words : words.at(0).toUpper() + words.mid(1);
}

}  // namespace tapelens::gui
