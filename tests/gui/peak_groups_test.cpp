// Nested groups: their sums equal those of peak::groups(), for each grouping and at each level.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <algorithm>
#include <map>

#include "analyzer/report/categories.h"
#include "gui/models/group_tree.h"
#include "tests/gui/peak_random.h"

namespace tapelens::gui {
namespace {

using peak::By;
using testing::RandomMoment;

constexpr std::array kAll = {By::field, By::node, By::module, By::source, By::op, By::category, By::step, By::stack};

class GroupsOfRandomMoments : public ::testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override { testing::fill(moment_, GetParam(), 400); }
  RandomMoment moment_;
};

TEST_P(GroupsOfRandomMoments, AreThoseOfTheReport) {
  for (const By by : kAll) {
    moment_.describe(by);
    Groupings groupings;
    groupings.levels = {by};
    groupings.nests = false;
    const GroupTree tree(*moment_.peak, groupings);
    const auto& root = tree.node(GroupTree::kRoot);
    EXPECT_EQ(root.bytes, moment_.peak->bytes.value);
    ASSERT_EQ(root.children.size(), moment_.peak->groups.size()) << peak::by_name(by);
    for (const report::AllocationGroup& group : moment_.peak->groups) {
      const auto node = std::ranges::find_if(root.children, [&](uint32_t child) {
        return tree.node(child).name.toStdString() == report::group_text(group.key);
      });
      ASSERT_NE(node, root.children.end()) << group.key;
      EXPECT_EQ(tree.node(*node).bytes, group.bytes.value) << group.key;
      EXPECT_EQ(tree.node(*node).allocations, group.allocations) << group.key;
    }
  }
}

TEST_P(GroupsOfRandomMoments, HaveTheSumsOfTheirRowsAtEachLevel) {
  for (const bool bottom_up : {false, true}) {
    const Groupings groupings{{By::module, By::node, By::field}, bottom_up, true};
    const GroupTree tree(*moment_.peak, groupings);
    for (uint32_t id = 0; id < tree.size(); ++id) {
      int64_t bytes = 0, children = 0;
      uint64_t count = 0;
      for (int row = 0; row < tree.rows(); ++row) {
        if (!tree.has(id, row)) continue;
        const report::Allocation& a = moment_.peak->allocations[static_cast<size_t>(row)];
        if (count++ == 0) {
          EXPECT_EQ(tree.node(id).biggest, static_cast<uint32_t>(row));
        }
        bytes += a.bytes.value;
      }
      EXPECT_EQ(tree.node(id).bytes, bytes);
      EXPECT_EQ(tree.node(id).allocations, count);
      for (const uint32_t child : tree.node(id).children) {
        children += tree.node(child).bytes;
        EXPECT_EQ(tree.node(child).parent, id);
      }
      EXPECT_LE(children, bytes);
      EXPECT_TRUE(std::ranges::is_sorted(tree.node(id).children, std::ranges::greater{},
                                         [&](uint32_t child) { return tree.node(child).bytes; }));
    }
  }
}

TEST_P(GroupsOfRandomMoments, OfSomeRowsAreWithoutTheOthers) {
  const auto wanted = [](int row) { return row % 3 == 1; };
  const GroupTree tree(*moment_.peak, {}, wanted);
  int64_t bytes = 0;
  for (int row = 0; row < tree.rows(); ++row) {
    if (wanted(row)) bytes += moment_.peak->allocations[static_cast<size_t>(row)].bytes.value;
    EXPECT_EQ(tree.has(GroupTree::kRoot, row), wanted(row));
  }
  EXPECT_EQ(tree.node(GroupTree::kRoot).bytes, bytes);
}

TEST_P(GroupsOfRandomMoments, AreAModelForATreeView) {
  GroupTreeModel model;
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  const auto tree = std::make_shared<const GroupTree>(*moment_.peak, Groupings{});
  model.show(tree);
  EXPECT_EQ(model.rowCount(), static_cast<int>(tree->node(GroupTree::kRoot).children.size()));
  for (uint32_t id = 1; id < tree->size(); ++id) {
    const QModelIndex index = model.index_of(id);
    EXPECT_EQ(model.node_at(index), id);
    EXPECT_EQ(index.data().toString(), tree->node(id).name);
    EXPECT_EQ(model.node_at(index.parent()), tree->node(id).parent);
  }
  model.show(std::make_shared<const GroupTree>());
  EXPECT_EQ(model.rowCount(), 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, GroupsOfRandomMoments, ::testing::Range(1u, 6u));

report::Peak modules() {
  report::Peak peak;
  for (const auto& [module, bytes] : std::vector<std::pair<const char*, int64_t>>{
           {"Net.layer1.0.conv", 40}, {"Net.layer1.1.conv", 30}, {"Net.layer1", 20}, {"", 10}}) {
    report::Allocation a;
    a.id = static_cast<uint32_t>(peak.allocations.size() + 1);
    a.bytes = {bytes};
    a.module = module;
    a.category = peak::HolderKind::program;
    a.holders.push_back({peak::HolderKind::program, "", "", "", "", 0});
    peak.bytes += a.bytes;
    peak.allocations.push_back(a);
  }
  return peak;
}

std::map<QString, int64_t> paths(const GroupTree& tree) {
  std::map<QString, int64_t> out;
  for (uint32_t id = 1; id < tree.size(); ++id) out[tree.path(id)] = tree.node(id).bytes;
  return out;
}

TEST(GroupTree, HasALevelForEachPartOfAModulesPath) {
  const GroupTree tree(modules(), {{By::module}, false, true});
  const std::map<QString, int64_t> expected = {{"Net", 90},
                                               {"Net › layer1", 90},
                                               {"Net › layer1 › 0", 40},
                                               {"Net › layer1 › 0 › conv", 40},
                                               {"Net › layer1 › 1", 30},
                                               {"Net › layer1 › 1 › conv", 30},
                                               {"(outside of modules)", 10}};
  EXPECT_EQ(paths(tree), expected);
}

TEST(GroupTree, AParameterStandsByNameUnderItsModule) {
  report::Peak peak;
  const auto add = [&](peak::HolderKind kind, const char* owner, report::Holder holder, int64_t bytes) {
    report::Allocation a;
    a.id = static_cast<uint32_t>(peak.allocations.size() + 1);
    a.bytes = {bytes};
    a.owner = owner;
    a.category = holder.kind = kind;
    a.holders.push_back(holder);
    peak.bytes += a.bytes;
    peak.allocations.push_back(a);
  };
  using peak::HolderKind;
  add(HolderKind::parameter, "Net.fc", {{}, "", "", "fc.weight", "", 0}, 40);
  add(HolderKind::parameter, "Net.fc", {{}, "", "", "fc.bias", "", 0}, 30);
  add(HolderKind::optimizer_state, "Net.fc", {{}, "", "", "exp_avg", "fc.weight", 0}, 20);
  add(HolderKind::parameter, "", {{}, "", "", "of.several.models", "", 0}, 10);
  const std::map<QString, int64_t> within = {{"Net", 90},
                                             {"Net › fc", 90},
                                             {"Net › fc › parameters", 70},
                                             {"Net › fc › parameters › weight", 40},
                                             {"Net › fc › parameters › bias", 30},
                                             {"Net › fc › optimizer state", 20},
                                             {"Net › fc › optimizer state › weight exp_avg", 20},
                                             {"(outside of modules)", 10},
                                             {"(outside of modules) › parameters", 10},
                                             {"(outside of modules) › parameters › of.several.models", 10}};
  EXPECT_EQ(paths(GroupTree(peak, {{By::module, By::field}, false, true})), within);
  // Without a grouping by modules, the group has the whole name.
  EXPECT_EQ(paths(GroupTree(peak, {{By::field}, false, true})).at("parameters › fc.weight"), 40);
}

TEST(GroupTree, HasALevelForEachFrameOfTheProgram) {
  report::Peak peak;
  const advise::Frame torch{"/usr/lib/python3/site-packages/torch/nn/modules/conv.py", "forward", 450};
  const auto add = [&](std::vector<advise::Frame> stack, int64_t bytes) {
    report::Allocation a;
    a.id = static_cast<uint32_t>(peak.allocations.size() + 1);
    a.bytes = {bytes};
    a.stack = std::move(stack);
    a.category = peak::HolderKind::program;
    a.holders.push_back({peak::HolderKind::program, "", "", "", "", 0});
    peak.bytes += a.bytes;
    peak.allocations.push_back(a);
  };
  add({torch, {"/a/net.py", "forward", 7}, {"/a/train.py", "main", 3}}, 40);
  add({{"/a/net.py", "forward", 9}, {"/a/train.py", "main", 3}}, 30);
  add({torch, {"/b/net.py", "forward", 7}, {"/a/train.py", "main", 3}}, 20);  // another file of the same name
  add({torch}, 10);
  add({}, 5);
  const std::map<QString, int64_t> expected = {{"train.py:3 main", 90},
                                               {"train.py:3 main › net.py:9 forward", 30},
                                               {"train.py:3 main › a/net.py:7 forward", 40},
                                               {"train.py:3 main › b/net.py:7 forward", 20},
                                               {"(PyTorch's own frames)", 10},
                                               {"(no stack)", 5}};
  EXPECT_EQ(paths(GroupTree(peak, {{By::stack}, false, true})), expected);
}

TEST(GroupTree, BottomUpSumsTheSameThingFromAllPlaces) {
  const GroupTree tree(modules(), {{By::module}, true, true});
  const auto found = paths(tree);
  EXPECT_EQ(found.at("conv"), 70);
  EXPECT_EQ(found.at("conv › 0"), 40);
  EXPECT_EQ(found.at("conv › 1 › layer1 › Net"), 30);
  EXPECT_EQ(found.at("layer1"), 20);
}

TEST(GroupTree, FindsTheSamePlaceInAnother) {
  const report::Peak peak = modules();
  const GroupTree one(peak, {{By::module}, false, true});
  const GroupTree other(peak, {{By::module}, false, true}, [](int row) { return row != 1; });
  for (uint32_t id = 0; id < one.size(); ++id) {
    const uint32_t there = one.same_place(other, id);
    const QString path = one.path(id);
    EXPECT_EQ(other.path(there), path.startsWith("Net › layer1 › 1") ? QString("Net › layer1") : path);
  }
}

}  // namespace
}  // namespace tapelens::gui
