// The allocations at one time, summed by nested groupings, for an icicle or a tree.
#pragma once

#include <QAbstractItemModel>
#include <QString>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "analyzer/compare/growth.h"
#include "analyzer/peak/groups.h"
#include "analyzer/report/report.h"

namespace tapelens::compare {
class ModuleTree;
}

namespace tapelens::gui {

// The group of each allocation, as an index into the names.
struct GroupKeys {
  std::vector<std::string> names;
  std::vector<uint32_t> of;  // by row of report::Peak::allocations
  // The levels of each name; none: the name is the only level.
  std::vector<std::vector<std::string>> parts;
};
enum class Nesting : uint8_t {
  none,     // the names of `tapelens report --by`
  parts,    // splits "Net.layer1.conv" into parts, a stack into frames, and names of parameters and their data
  modules,  // the same within modules: omits the part of a name that its module has already
};
GroupKeys group_keys(const report::Peak& peak, peak::By by, Nesting nesting = Nesting::none);

struct Groupings {
  std::vector<peak::By> levels{peak::By::module, peak::By::field};  // outermost first
  bool is_bottom_up = false;                                        // reverses the levels
  bool nests = true;                                                // splits a name into one level for each part

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
    uint32_t parent = 0, depth = 0, place = 0;  // place: index among its parent's children
    std::vector<uint32_t> children;             // the most bytes first, then by name
    std::optional<peak::HolderKind> category;   // if grouped by category, or if all allocations have the same one
    peak::HolderKind main{};                    // the category with the most bytes
    // Of two compared runs: the bytes in each; `bytes` is then the width in a picture.
    std::optional<compare::Growth> growth;
    model::Bytes before, after;
  };
  using Rows = std::function<bool(int row)>;

  GroupTree() : nodes_(1) {}
  // Counts the rows that `wanted` selects; empty: all rows.
  GroupTree(const report::Peak& peak, const Groupings& groupings, const Rows& wanted = {});

  // The modules of two runs. Nodes have the ids of `modules`.
  explicit GroupTree(const compare::ModuleTree& modules);

  static constexpr uint32_t kRoot = 0;  // all allocations, without a name
  const Node& node(uint32_t id) const { return nodes_[id]; }
  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }
  // The innermost node of a row; kRoot if the row is not counted.
  uint32_t leaf_of(int row) const { return leaf_[static_cast<size_t>(row)]; }
  int rows() const { return static_cast<int>(leaf_.size()); }
  bool has(uint32_t id, int row) const;  // whether the node contains the row
  bool is_within(uint32_t id, uint32_t ancestor) const;
  // "ResNet › layer1 › ConvolutionBackward0.input"; empty for the root.
  QString path(uint32_t id) const;
  // The modules on the way to a node, as a path: "ResNet.layer1". Empty: none.
  QString module_path(uint32_t id) const;
  // The node at the same path in another tree with the same groupings, as far down as the path exists.
  uint32_t same_place(const GroupTree& other, uint32_t id) const;

 private:
  void sort_children();

  std::vector<Node> nodes_;
  std::vector<uint32_t> leaf_;
  bool is_bottom_up_ = false;
};

// Name, bytes, share, allocations.
class GroupTreeModel : public QAbstractItemModel {
  Q_OBJECT
 public:
  enum Column : uint8_t { name, bytes, share, allocations, kColumns };
  enum Role : int { node_role = Qt::UserRole };

  using QAbstractItemModel::QAbstractItemModel;

  void show(std::shared_ptr<const GroupTree> tree);
  QModelIndex index_of(uint32_t node) const;  // invalid for the root
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
