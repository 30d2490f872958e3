// What was alive at a moment, summed by one grouping within another: what an icicle and a tree show.
#pragma once

#include <QAbstractItemModel>
#include <QString>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "analyzer/peak/groups.h"
#include "analyzer/report/report.h"

namespace tapelens::gui {

// Of each allocation the group that it is counted in, by its number among the names.
struct GroupKeys {
  std::vector<std::string> names;
  std::vector<uint32_t> of;  // by row of report::Peak::allocations
  // Of each name the levels that it has; none: itself alone.
  std::vector<std::vector<std::string>> parts;
};
enum class Nesting : uint8_t {
  none,     // as `tapelens report --by` has them
  parts,    // "Net.layer1.conv" by its parts, a stack by its frames, parameters and what belongs to them by name
  modules,  // likewise, within modules: of a name what its module does not say
};
GroupKeys group_keys(const report::Peak& peak, peak::By by, Nesting nesting = Nesting::none);

struct Groupings {
  std::vector<peak::By> levels{peak::By::module, peak::By::field};  // the outermost first
  bool is_bottom_up = false;                                        // the levels from the last to the first
  bool nests = true;                                                // a name with parts as a level for each

  friend bool operator==(const Groupings&, const Groupings&) = default;
};

class GroupTree {
 public:
  struct Node {
    QString name;
    peak::By by{};
    int64_t bytes = 0;
    uint64_t allocations = 0;
    uint32_t biggest = 0;                       // row of the biggest allocation in it
    uint32_t parent = 0, depth = 0, place = 0;  // place: among its parent's children
    std::vector<uint32_t> children;             // the most bytes first, then by name
    std::optional<peak::HolderKind> category;   // by category, or all of one
  };
  using Rows = std::function<bool(int row)>;

  GroupTree() : nodes_(1) {}
  // The rows that `wanted` names; empty: all.
  GroupTree(const report::Peak& peak, const Groupings& groupings, const Rows& wanted = {});

  static constexpr uint32_t kRoot = 0;  // everything, without a name
  const Node& node(uint32_t id) const { return nodes_[id]; }
  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }
  // The innermost node that has a row; kRoot if the row is not wanted.
  uint32_t leaf_of(int row) const { return leaf_[static_cast<size_t>(row)]; }
  int rows() const { return static_cast<int>(leaf_.size()); }
  bool has(uint32_t id, int row) const;  // the row is in it
  bool is_within(uint32_t id, uint32_t ancestor) const;
  // "ResNet › layer1 › ConvolutionBackward0.input"; empty: the root.
  QString path(uint32_t id) const;
  // The same place in another tree of the same groupings; as far down as there is one.
  uint32_t same_place(const GroupTree& other, uint32_t id) const;

 private:
  void sort_children();

  std::vector<Node> nodes_;
  std::vector<uint32_t> leaf_;
};

// Name, bytes, share, allocations.
class GroupTreeModel : public QAbstractItemModel {
  Q_OBJECT
 public:
  enum Column : uint8_t { name, bytes, share, allocations, kColumns };
  enum Role : int { node_role = Qt::UserRole };

  using QAbstractItemModel::QAbstractItemModel;

  void show(std::shared_ptr<const GroupTree> tree);
  QModelIndex index_of(uint32_t node) const;  // invalid: of the root
  uint32_t node_at(const QModelIndex& index) const;

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& index) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  std::shared_ptr<const GroupTree> tree_ = std::make_shared<GroupTree>();
};

}  // namespace tapelens::gui
