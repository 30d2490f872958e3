// Comparison of two runs: groups, matched rows, changed lines, budgets, the verdict.
#include <gtest/gtest.h>

#include "analyzer/compare/budget.h"
#include "analyzer/compare/changed_lines.h"
#include "analyzer/compare/comparison.h"
#include "analyzer/compare/gate.h"
#include "analyzer/compare/module_tree.h"
#include "analyzer/compare/run_figures.h"

namespace tapelens::compare {
namespace {

constexpr int64_t kMiB = 1 << 20;

Row row(const std::string& field, const std::string& module, uint32_t line, int64_t mib) {
  Row out;
  out.kind = peak::HolderKind::save;
  out.node = "ReluBackward0";
  out.field = field;
  out.op = "aten::relu";
  out.module = module;
  out.source = {"/repo/train.py", "Net.forward", line};
  out.stack = {out.source, {"/repo/train.py", "main", 90}};
  out.dtype = "float32";
  out.sizes = {8, 64};
  out.bytes = Bytes{mib * kMiB};
  out.allocations = 1;
  return out;
}

RunFigures run(std::vector<Row> rows) {
  RunFigures out;
  out.torch_version = "2.15.0";
  DeviceFigures device;
  device.device = "cpu";
  for (const Row& one : rows) device.peak += one.bytes;
  device.saved = device.peak;
  device.step_allocations = 64;
  device.steps = {{Bytes{kMiB}, device.peak, 64}};
  for (const Row& one : rows) device.modules.emplace_back(one.module, one.bytes);
  device.rows = std::move(rows);
  out.processes = {{-1, {device}}};
  return out;
}

Comparison comparison_of(RunFigures a, RunFigures b) {
  auto made = compare(std::move(a), std::move(b), {}, {});
  EXPECT_TRUE(made);
  return std::move(*made);
}

TEST(Compared, EachGroupIsInOneRowWithWhatBecameOfIt) {
  const std::vector<ComparedGroup> groups =
      compared({{"gone", Bytes{5}, 1}, {"less", Bytes{30}, 3}, {"more", Bytes{1}, 1}, {"same", Bytes{9}, 2}},
               {{"less", Bytes{10}, 1}, {"more", Bytes{11}, 2}, {"new", Bytes{7}, 1}, {"same", Bytes{9}, 1}});
  std::vector<std::tuple<std::string, int64_t, Change>> found;
  for (const ComparedGroup& group : groups) found.emplace_back(group.name, group.difference().value, group.change());
  EXPECT_EQ(found, (std::vector<std::tuple<std::string, int64_t, Change>>{{"less", -20, Change::decreased},
                                                                          {"more", 10, Change::increased},
                                                                          {"new", 7, Change::is_new},
                                                                          {"gone", -5, Change::removed},
                                                                          {"same", 0, Change::same}}));
  EXPECT_TRUE(compared({}, {}).empty());
}

// ---- rows

TEST(Matching, ALineThatMovedAndAModuleThatIsRenamedAreTheSame) {
  const Comparison moved = comparison_of(run({row("result", "Net.a", 7, 4), row("result", "Net.b", 9, 4)}),
                                         run({row("result", "Net.a", 27, 4), row("result", "Net.b", 29, 4)}));
  for (const ComparedRow& one : moved.devices[0].rows) EXPECT_EQ(one.change(), Change::same);
  const Comparison renamed =
      comparison_of(run({row("result", "Net.head", 7, 4)}), run({row("result", "Model.output", 8, 4)}));
  ASSERT_EQ(renamed.devices[0].rows.size(), 1u);
  EXPECT_EQ(renamed.devices[0].rows[0].change(), Change::same);
}

TEST(Compared, MoreOtherLiveTensorsInARunWithoutTheirVariablesNameTheOption) {
  const auto remarks = [](int64_t before, int64_t after, bool lacks_variables) {
    Row held = row("", "Net", 7, before), more = row("", "Net", 7, after);
    held.kind = more.kind = peak::HolderKind::program;
    RunFigures b = run({more});
    b.processes[0].devices[0].lacks_variables = lacks_variables;
    return comparison_of(run({held}), b).remarks;
  };
  EXPECT_EQ(remarks(4, 9, true),
            std::vector<std::string>{"cpu: the program refers to 5.0 MiB more of other live tensors; tapelens record "
                                     "--referrers names the variables"});
  EXPECT_TRUE(remarks(4, 9, false).empty());
  EXPECT_TRUE(remarks(9, 4, true).empty());
}

TEST(Matching, WhatOnlyOneHasIsAlone) {
  const Comparison made = comparison_of(run({row("result", "Net.a", 7, 4), row("gone", "Net.a", 7, 2)}),
                                        run({row("result", "Net.a", 7, 6), row("fresh", "Net.a", 8, 3)}));
  std::map<std::string, Change> found;
  for (const ComparedRow& one : made.devices[0].rows) found[one.shown().field] = one.change();
  EXPECT_EQ(found, (std::map<std::string, Change>{
                       {"result", Change::increased}, {"gone", Change::removed}, {"fresh", Change::is_new}}));
  Bytes sum;
  for (const ComparedRow& one : made.devices[0].rows) sum += one.difference();
  EXPECT_EQ(sum, made.devices[0].b.peak - made.devices[0].a.peak);
}

TEST(Matching, TheStatementTellsWhichOfTwoLinesMoved) {
  Row first = row("result", "Net", 7, 4), second = row("result", "Net", 8, 2);
  first.statement = "x = relu(a)";
  second.statement = "y = relu(b)";
  Row new_first = first, new_second = second;
  std::swap(new_first.source.line, new_second.source.line);
  const Comparison made = comparison_of(run({first, second}), run({new_first, new_second}));
  for (const ComparedRow& one : made.devices[0].rows) EXPECT_EQ(one.change(), Change::same);
}

TEST(Matching, AnotherBatchIsSaid) {
  Row twice = row("result", "Net", 7, 8);
  twice.sizes = {16, 64};
  const Comparison made = comparison_of(run({row("result", "Net", 7, 4)}), run({twice}));
  EXPECT_EQ(made.devices[0].size_ratio, 2);
  ASSERT_EQ(made.remarks.size(), 1u);
  EXPECT_NE(made.remarks[0].find("2 times as large in one dimension"), std::string::npos);
}

TEST(Comparing, NoDeviceInCommonIsAnErrorThatNamesBoth) {
  RunFigures a = run({row("result", "Net", 7, 4)}), b = a;
  b.processes[0].devices[0].device = "cuda:0";
  const auto made = compare(a, b, {}, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, trace::ErrorKind::nothing_compared);
  EXPECT_NE(made.error().message.find("cuda:0"), std::string::npos);
  EXPECT_NE(made.error().message.find("cpu"), std::string::npos);
}

TEST(Comparing, RunsOfDifferentLengthCompareTheStepsThatBothHave) {
  RunFigures a = run({row("result", "Net", 7, 4)}), b = run({row("result", "Net", 7, 9)});
  b.processes[0].devices[0].steps = {{Bytes{}, Bytes{4 * kMiB}, 64}, {Bytes{}, Bytes{9 * kMiB}, 64}};
  b.processes[0].devices[0].saved = Bytes{4 * kMiB};
  const Comparison made = comparison_of(a, b);
  EXPECT_EQ(made.devices[0].peak_b, Bytes{4 * kMiB});
  EXPECT_TRUE(judge(made.b, &made, {}).passed());
}

// ---- the tree of modules

std::vector<std::string> drawn(const ModuleTree& tree) {
  std::vector<std::string> out;
  for (uint32_t id = 0; id < tree.size(); ++id) {
    const ModuleTree::Node& node = tree.node(id);
    out.push_back(tree.path(id) + (node.before.empty() ? "" : " was " + node.before) + " " +
                  std::to_string(node.a.value) + " " + std::to_string(node.b.value) + " x" +
                  std::to_string(node.layers) + " " + label(node.growth()));
  }
  std::ranges::sort(out);
  return out;
}

TEST(TreeOfModules, EqualLayersAreOneAndTheRestIsSeenAlone) {
  const std::vector<HeldBytes> a{{"", "temporaries", Bytes{5}, 1},
                                 {"Net.blocks.0.fc", "parameters", Bytes{10}, 2},
                                 {"Net.blocks.1.fc", "parameters", Bytes{10}, 2},
                                 {"Net.head", "parameters", Bytes{3}, 1}};
  const std::vector<HeldBytes> b{{"Net.blocks.0.fc", "parameters", Bytes{20}, 2},
                                 {"Net.blocks.1.fc", "parameters", Bytes{20}, 2},
                                 {"Net.blocks.2.fc", "parameters", Bytes{20}, 2},
                                 {"Net.head", "parameters", Bytes{2}, 1}};
  const ModuleTree tree(a, b);
  EXPECT_EQ(drawn(tree), (std::vector<std::string>{
                             " 28 62 x1 at least doubled", "(outside of modules) 5 0 x1 removed",
                             "(outside of modules): temporaries 5 0 x1 removed", "Net 23 62 x1 at least doubled",
                             "Net.blocks 20 60 x1 at least doubled", "Net.blocks.2.fc 0 20 x1 new",
                             "Net.blocks.2.fc: parameters 0 20 x1 new", "Net.blocks.{0,1}.fc 20 40 x2 at least doubled",
                             "Net.blocks.{0,1}.fc: parameters 20 40 x1 at least doubled", "Net.head 3 2 x1 smaller",
                             "Net.head: parameters 3 2 x1 smaller"}));
  EXPECT_EQ(tree.node(ModuleTree::kRoot).width, Bytes{5 + 60 + 3}) << "removed contents have a width";
  EXPECT_EQ(tree.node_of_a(1), tree.node_of_a(2));
  EXPECT_EQ(tree.node_of_b(0), tree.node_of_a(1));
  EXPECT_NE(tree.node_of_b(2), tree.node_of_a(1));
  EXPECT_TRUE(tree.is_within(tree.node_of_b(2), ModuleTree::kRoot));
}

TEST(TreeOfModules, ARenamedClassIsOneNodeAndAnotherModuleIsNot) {
  const std::vector<HeldBytes> a{{"Net.fc", "parameters", Bytes{4}, 1},
                                 {"Net.relu", "ReluBackward0.result", Bytes{2}, 1}};
  const std::vector<HeldBytes> b{{"Model.fc", "parameters", Bytes{4}, 1},
                                 {"Model.gelu", "GeluBackward0.self", Bytes{2}, 1}};
  EXPECT_EQ(drawn(ModuleTree(a, b)),
            (std::vector<std::string>{" 6 6 x1 the same", "Model was Net 6 6 x1 the same", "Model.fc 4 4 x1 the same",
                                      "Model.fc: parameters 4 4 x1 the same", "Model.gelu 0 2 x1 new",
                                      "Model.gelu: GeluBackward0.self 0 2 x1 new", "Model.relu 2 0 x1 removed",
                                      "Model.relu: ReluBackward0.result 2 0 x1 removed"}));
}

TEST(TreeOfModules, OfADeepPathAndOfManyModulesIsMadeInTime) {
  std::string deep = "Net";
  for (int i = 0; i < 20'000; ++i) deep += ".a";
  std::vector<HeldBytes> held{{deep, "parameters", Bytes{1}, 1}};
  for (int i = 0; i < 20'000; ++i)
    held.push_back({"Net.layers." + std::to_string(i) + ".fc", "parameters", Bytes{i}, 1});
  const ModuleTree tree(held, held);
  EXPECT_EQ(tree.node(ModuleTree::kRoot).growth(), Growth::same);
  EXPECT_EQ(tree.path(tree.node_of_a(0)), deep + ": parameters");
}

TEST(TreeOfModules, OfABaselineIsMadeOfItsRows) {
  RunFigures a = run({row("result", "Net.*.fc", 7, 4)}), b = run({row("result", "Net.*.fc", 7, 6)});
  b.processes[0].devices[0].held = {{"Net.0.fc", "parameters", Bytes{1}, 1}};
  const Comparison made = comparison_of(a, b);
  EXPECT_EQ(drawn(module_tree(made.devices[0])),
            (std::vector<std::string>{" 4194304 6291456 x1 larger", "Net.*.fc 4194304 6291456 x1 larger",
                                      "Net.*.fc: ReluBackward0.result 4194304 6291456 x1 larger"}));
}

// ---- lines

std::vector<std::string> said(std::string_view before, std::string_view after) {
  std::vector<std::string> out;
  for (const ChangedLine& line : changed_lines(before, after)) {
    out.push_back(std::string(kind_name(line.kind)) + " " + std::to_string(line.line) + " " + line.text +
                  (line.function.empty() ? "" : " in " + line.function));
  }
  return out;
}
using Said = std::vector<std::string>;

TEST(ChangedLines, AreTheShortestListAndKnowTheirFunction) {
  const std::string before = "def f(x):\n    y = g(x)\n    return y\n\nprint(f(1))\n";
  EXPECT_EQ(said(before, before), Said{});
  EXPECT_EQ(said(before, "def f(x):\n    y = g(x)\n    kept.append(y)\n    return y\n\nprint(f(1))\n"),
            Said{"added 3 kept.append(y) in f"});
  EXPECT_EQ(said(before, "def f(x):\n    y = h(x)\n    return y\n\nprint(f(1))\n"), Said{"changed 2 y = h(x) in f"});
  EXPECT_EQ(said(before, "def f(x):\n    return y\n\nprint(f(1))\n"), Said{"removed 2 y = g(x) in f"});
  EXPECT_EQ(said("", "x = 1\n"), Said{"added 1 x = 1"});
  EXPECT_EQ(said("x = 1\n", ""), Said{"removed 1 x = 1"});
}

TEST(ChangedLines, ABlockThatLostItsHeaderIsThatHeader) {
  EXPECT_EQ(said("def f(x):\n    with no_grad():\n        y = g(x)\n        return y\n",
                 "def f(x):\n    y = g(x)\n    return y\n"),
            (Said{"removed 2 with no_grad(): in f", "moved 2 y = g(x) in f", "moved 3 return y in f"}));
}

TEST(ChangedLines, WhatMovedOrIsCalledOtherwiseCannotMatter) {
  for (const auto& [before, after] : std::vector<std::pair<std::string, std::string>>{
           {"a = 1\nb = 2\n", "b = 2\na = 1\n"},
           {"hidden = f(x)\ny = g(hidden)\n", "h = f(x)\ny = g(h)\n"},
           {"class A:\n    pass\na = A()\n", "class B:\n    pass\na = B()\n"},
           {"a = 1\n", "# What it is.\n\na = 1\n"}}) {
    for (const ChangedLine& line : changed_lines(before, after)) EXPECT_FALSE(line.can_matter()) << after;
  }
  // A name that the file does not define refers to another thing. This is not a rename.
  EXPECT_EQ(said("y = F.relu(x)\n", "y = F.gelu(x)\n"), Said{"changed 1 y = F.gelu(x)"});
  // Two names that become one name are not a rename.
  EXPECT_EQ(said("a = 1\nb = 2\nf(a, b)\n", "a = 1\nb = 2\nf(a, a)\n"), Said{"changed 3 f(a, a)"});
}

TEST(ChangedLines, TwoFilesWithNothingInCommonAreReadInTime) {
  std::string before, after;
  for (int i = 0; i < 20000; ++i) {
    before += "a" + std::to_string(i) + "()\n";
    after += "b" + std::to_string(i) + "()\n";
  }
  EXPECT_EQ(changed_lines(before, after).size(), 20000u);
}

// ---- the cause

Comparison with_changes(const std::vector<ChangedLine>& lines) {
  Comparison made = comparison_of(run({row("result", "Net.a", 7, 4)}),
                                  run({row("result", "Net.a", 7, 8), row("other", "Net.head", 30, 1)}));
  made.changes = {{"/repo/train.py", lines}};
  return made;
}

TEST(Cause, AChangedLineOnTheStackOfWhatGrewComesFirst) {
  using Kind = ChangedLine::Kind;
  const Comparison made = with_changes({{Kind::changed, 50, "log(x)", "", "report"},
                                        {Kind::changed, 7, "x = relu(x)", "x = relu_(x)", "forward"},
                                        {Kind::renamed, 90, "main2()", "main()", ""}});
  const Cause cause = cause_of(made, made.devices[0].grown());
  EXPECT_EQ(cause.where.line, 7u);
  EXPECT_EQ(cause.why, "changed, before: x = relu_(x); on the stack of +4.0 MiB, of 2 changed lines");
}

TEST(Cause, TheOnlyChangedLineIsNamedWhereverItIs) {
  const Comparison made = with_changes({{ChangedLine::Kind::removed, 60, "net.freeze()", "", "main"}});
  const Cause cause = cause_of(made, made.devices[0].grown());
  EXPECT_EQ(cause.statement, "net.freeze()");
  EXPECT_EQ(cause.why, "removed; the only line that changed");
}

TEST(Cause, ALineThatNamesTheModuleComesBeforeOneThatDoesNot) {
  using Kind = ChangedLine::Kind;
  const Comparison made =
      with_changes({{Kind::added, 60, "x += 1", "", "f"}, {Kind::added, 61, "net.head.train()", "", "f"}});
  EXPECT_EQ(cause_of(made, made.devices[0].grown()).where.line, 61u);
}

TEST(Cause, ALineThatUsesTheResultComesBeforeOneThatDoesNot) {
  using Kind = ChangedLine::Kind;
  Comparison made =
      with_changes({{Kind::added, 3, "kept = []", "", "forward"}, {Kind::added, 9, "kept.append(out)", "", "forward"}});
  for (ComparedRow& one : made.devices[0].rows) one.b->statement = "out = relu(x)";
  const Cause cause = cause_of(made, made.devices[0].grown());
  EXPECT_EQ(cause.where.line, 9u);
  EXPECT_EQ(cause.why, "added; uses what grew by 5.0 MiB, of 2 changed lines");
}

TEST(Cause, WithoutTheFilesItIsTheLineThatAllocatesMost) {
  const Comparison made = with_changes({});
  const Cause cause = cause_of(made, made.devices[0].grown());
  EXPECT_EQ(cause.where.line, 7u);
  EXPECT_EQ(cause.why, "allocates the largest part of the growth");
}

// ---- budgets

TEST(Budgets, HaveAMetricAModuleADeviceAndASize) {
  const auto budget = parse_budget("peak[GPT.blocks.*]@cuda:0 <= 6GiB");
  ASSERT_TRUE(budget);
  EXPECT_EQ(budget->metric, Metric::peak);
  EXPECT_EQ(budget->module, "GPT.blocks.*");
  EXPECT_EQ(budget->device, "cuda:0");
  EXPECT_EQ(budget->most, int64_t{6} << 30);
  EXPECT_EQ(parse_budget("allocations<=12")->most, 12);
  for (const auto& [text, why] :
       std::vector<std::pair<const char*, const char*>>{{"peak", "it has no <="},
                                                        {"peek<=6GiB", "use peak, saved, reserved or allocations"},
                                                        {"peak<=much", "'much' is not a size"},
                                                        {"allocations<=6GiB", "is not a number"},
                                                        {"peak[]<=6GiB", "no module in its []"},
                                                        {"peak@<=6GiB", "no device behind its @"},
                                                        {"saved[Net]<=6GiB", "is known of the peak alone"}}) {
    const auto wrong = parse_budget(text);
    ASSERT_FALSE(wrong) << text;
    EXPECT_NE(wrong.error().message.find(why), std::string::npos) << wrong.error().message;
  }
}

TEST(Budgets, AModulePatternIsOfPartsOfAPath) {
  EXPECT_TRUE(is_within("GPT.blocks.3.fc", "GPT.blocks.*"));
  EXPECT_TRUE(is_within("GPT.blocks.3.fc", "GPT"));
  EXPECT_FALSE(is_within("GPT.blocks", "GPT.blocks.*"));
  EXPECT_FALSE(is_within("GPT2.blocks", "GPT"));
  EXPECT_FALSE(is_within("", "GPT"));
}

Limits with_budget(const char* text, int64_t most) {
  Limits limits;
  auto budget = parse_budget(text);
  EXPECT_TRUE(budget);
  budget->most = most;
  limits.budgets = {*budget};
  return limits;
}

TEST(Budgets, WhatIsAboveFailsAndNamesWhatHoldsMost) {
  const RunFigures now = run({row("result", "Net.a", 7, 4), row("result", "Net.b", 9, 6)});
  EXPECT_TRUE(judge(now, nullptr, with_budget("peak<=1GiB", 10 * kMiB)).passed());
  const GateResult over = judge(now, nullptr, with_budget("peak<=1GiB", 10 * kMiB - 1));
  ASSERT_EQ(over.failed(), 1u);
  EXPECT_EQ(over.items[0].cause.where.line, 7u);  // rows are in the order of the figures
  EXPECT_TRUE(judge(now, nullptr, with_budget("peak[Net.a]<=1GiB", 4 * kMiB)).passed());
  EXPECT_FALSE(judge(now, nullptr, with_budget("peak[Net.b]<=1GiB", 4 * kMiB)).passed());
}

TEST(Budgets, ThatLookAtNothingFail) {
  const RunFigures now = run({row("result", "Net.a", 7, 4)});
  for (const char* text : {"peak[Nets]<=1GiB", "peak@cuda:3<=1GiB", "reserved<=1GiB"}) {
    const GateResult verdict = judge(now, nullptr, with_budget(text, 1 << 30));
    EXPECT_EQ(verdict.failed(), 1u) << text;
    EXPECT_FALSE(verdict.items[0].message.empty()) << text;
  }
}

TEST(Budgets, OfAMetricThatARunDoesNotHaveFail) {
  RunFigures inference = run({row("result", "Net.a", 7, 4)});
  inference.processes[0].devices[0].has_backward = false;
  inference.processes[0].devices[0].steps.clear();
  for (const auto& [text, why] :
       std::vector<std::pair<const char*, const char*>>{{"saved<=1GiB", "no backward was recorded"},
                                                        {"saved@cpu<=1GiB", "no backward was recorded"},
                                                        {"allocations<=9", "no whole training step was recorded"}}) {
    const GateResult verdict = judge(inference, nullptr, with_budget(text, 1 << 30));
    ASSERT_EQ(verdict.failed(), 1u) << text;
    EXPECT_EQ(verdict.items[0].message, why);
  }
  // The reserved bytes are known for one GPU and unknown for the other.
  RunFigures gpus = run({row("result", "Net.a", 7, 4)});
  for (const char* name : {"cuda:0", "cuda:1"}) {
    gpus.processes[0].devices.push_back(gpus.processes[0].devices[0]);
    gpus.processes[0].devices.back().device = name;
  }
  gpus.processes[0].devices[1].reserved = Bytes{8 * kMiB};
  const GateResult verdict = judge(gpus, nullptr, with_budget("reserved<=1GiB", 1 << 30));
  ASSERT_EQ(verdict.items.size(), 2u);
  EXPECT_EQ(verdict.items[0].name, "reserved<=1GiB of cuda:1");
  EXPECT_EQ(verdict.failed(), 1u);
}

// ---- the verdict

TEST(Gate, AFigureOfTheBaselineThatWasNotMeasuredFails) {
  const auto failed = [](RunFigures a, RunFigures b) {
    const Comparison made = comparison_of(std::move(a), std::move(b));
    std::vector<std::string> names;
    for (const Item& item : judge(made.b, &made, {}).items) {
      if (!item.passed) names.push_back(item.name + ": " + item.message);
    }
    return names;
  };
  const RunFigures plain = run({row("result", "Net.a", 7, 4)});
  RunFigures with_gpu = plain;
  with_gpu.processes[0].devices.push_back(with_gpu.processes[0].devices[0]);
  with_gpu.processes[0].devices.back().device = "cuda:0";
  EXPECT_EQ(
      failed(with_gpu, plain),
      std::vector<std::string>{"peak of cuda:0: the baseline has 4.0 MiB, and this run has no such device; if this "
                               "is intended, write a new baseline"});
  EXPECT_EQ(failed(plain, with_gpu), std::vector<std::string>{});
  RunFigures reserved = with_gpu;
  reserved.processes[0].devices[1].reserved = Bytes{8 * kMiB};
  EXPECT_EQ(
      failed(reserved, with_gpu),
      std::vector<std::string>{"reserved of cuda:0: the baseline has 8.0 MiB, and reserved bytes are recorded only "
                               "of GPUs with PyTorch's own allocator"});
  RunFigures inference = plain;
  inference.processes[0].devices[0].has_backward = false;
  EXPECT_EQ(failed(plain, inference),
            std::vector<std::string>{"saved of cpu: the baseline has 4.0 MiB, and no backward was recorded"});
  RunFigures ranks = plain;
  ranks.processes.push_back(plain.processes[0]);
  for (int32_t rank = 0; rank < 2; ++rank) ranks.processes[static_cast<size_t>(rank)].rank = rank;
  RunFigures first = plain;
  first.processes[0].rank = 0;
  EXPECT_EQ(
      failed(ranks, first),
      std::vector<std::string>{"peak of rank 1: the baseline has 4.0 MiB, and this run has no such process; if this "
                               "is intended, write a new baseline"});
}

TEST(Gate, MoreThanTheToleranceFails) {
  const Comparison made = comparison_of(run({row("result", "Net.a", 7, 100)}), run({row("result", "Net.a", 7, 101)}));
  Limits limits;
  limits.tolerance = 0.01;
  EXPECT_TRUE(judge(made.b, &made, limits).passed());
  limits.tolerance = 0.009;
  const GateResult verdict = judge(made.b, &made, limits);
  EXPECT_EQ(verdict.failed(), 2u);  // the peak and the saved bytes
  EXPECT_EQ(verdict.items[0].name, "peak of cpu");
  EXPECT_EQ(verdict.items[0].module, "Net.a");
  EXPECT_EQ(verdict.items[0].field, "ReluBackward0.result");
}

TEST(Gate, TheDeviceWhosePeakGrewMostComesFirst) {
  const auto on_both = [](int64_t cpu, int64_t gpu) {
    RunFigures out = run({row("result", "Net.a", 7, cpu)});
    DeviceFigures device = run({row("result", "Net.b", 9, gpu)}).processes[0].devices[0];
    device.device = "cuda:0";
    out.processes[0].devices.push_back(std::move(device));
    return out;
  };
  const Comparison made = comparison_of(on_both(100, 100), on_both(102, 150));
  const GateResult verdict = judge(made.b, &made, {});
  ASSERT_EQ(verdict.failed(), 4u);
  EXPECT_EQ(verdict.items[0].name, "peak of cuda:0");
  EXPECT_EQ(verdict.items[2].name, "peak of cpu");
}

TEST(Gate, LessIsFine) {
  const Comparison made = comparison_of(run({row("result", "Net.a", 7, 100)}), run({row("result", "Net.a", 7, 1)}));
  EXPECT_TRUE(judge(made.b, &made, {}).passed());
}

KnownFinding finding(const char* check, uint32_t line, check::Severity severity, int64_t gain) {
  return {std::string(check) + std::to_string(line),
          check,
          severity,
          "a title",
          "ReluBackward0",
          "result",
          "aten::relu",
          "Net",
          {"/repo/train.py", "Net.forward", line},
          "",
          Bytes{gain},
          Bytes{gain}};
}

TEST(Gate, OnlyNewFindingsThatAreSevereAndLargeEnoughFail) {
  RunFigures a = run({row("result", "Net.a", 7, 100)}), b = a;
  a.findings = {finding("known", 7, check::Severity::warning, 50 * kMiB)};
  b.findings = {finding("known", 19, check::Severity::warning, 50 * kMiB),  // its line moved
                finding("small", 8, check::Severity::warning, kMiB / 2),
                finding("information", 9, check::Severity::info, 50 * kMiB),
                finding("leak", 10, check::Severity::error, 0)};
  const Comparison made = comparison_of(a, b);
  EXPECT_EQ(made.new_findings.size(), 3u);
  const GateResult verdict = judge(made.b, &made, {});
  ASSERT_EQ(verdict.failed(), 1u);
  EXPECT_EQ(verdict.items[0].name, "new finding leak");
  Limits none;
  none.fail_on = std::nullopt;
  EXPECT_TRUE(judge(made.b, &made, none).passed());
}

TEST(Gate, ARunThatIsNotWholeIsNotComplete) {
  RunFigures now = run({row("result", "Net.a", 7, 4)});
  now.incomplete = {"rank 0 was killed"};
  const GateResult verdict = judge(now, nullptr, with_budget("peak<=1GiB", 1 << 30));
  EXPECT_TRUE(verdict.passed());
  EXPECT_FALSE(verdict.is_complete);
}

// ---- the baseline

TEST(Baseline, IsReadBackAsItWasAndIsTheSameWhateverTheOrder) {
  RunFigures now = run({row("result", "Net.a", 7, 4), row("result", "Net.b", 9, 6)});
  now.command = "python train.py";
  now.findings = {finding("known", 7, check::Severity::warning, 5)};
  now.sources = {{"/repo/train.py", 120, 0xfedcba9876543210}};
  now.processes[0].devices[0].reserved = Bytes{20 * kMiB};
  const check::SourceTree tree{"/repo", "/repo"};
  const std::string text = baseline_json(now, tree, "1.2.3");
  const auto read = read_baseline(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->sources, (std::vector<SourceVersion>{{"train.py", 120, 0xfedcba9876543210}}));
  EXPECT_EQ(read->processes[0].devices[0].reserved, Bytes{20 * kMiB});
  EXPECT_TRUE(judge(now, nullptr, {}).passed());
  const Comparison same = comparison_of(*read, now);
  EXPECT_TRUE(same.new_findings.empty() && same.gone_findings.empty() && same.remarks.empty());
  for (const ComparedRow& one : same.devices[0].rows) EXPECT_EQ(one.change(), Change::same);
  std::swap(now.processes[0].devices[0].rows[0], now.processes[0].devices[0].rows[1]);
  EXPECT_EQ(baseline_json(now, tree, "1.2.3"), text);
}

TEST(Baseline, WhatIsNoneIsRefusedWithASentence) {
  for (const char* text : {"", "{", "[]", "{}", R"({"format":"tapelens baseline","version":2})",
                           R"({"format":"tapelens baseline","version":1})", R"({"schema_version":1,"peak":{}})"}) {
    const auto read = read_baseline(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().message.find("--write-baseline"), std::string::npos) << read.error().message;
  }
}

TEST(Baseline, NumbersWhoseSumIsNoneAreRefused) {
  RunFigures now = run({row("result", "Net.a", 7, 4), row("result", "Net.b", 9, 6)});
  const check::SourceTree tree{"/repo", "/repo"};
  now.processes[0].devices[0].rows[0].bytes = Bytes{INT64_MAX / 2};
  EXPECT_TRUE(read_baseline(baseline_json(now, tree, "1")));
  now.processes[0].devices[0].rows[1].bytes = Bytes{INT64_MAX / 2 + 1};
  const auto read = read_baseline(baseline_json(now, tree, "1"));
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("numbers that add up to more than 2^63"), std::string::npos);
  now.processes[0].devices[0].rows[1].bytes = Bytes{};
  now.findings = {finding("known", 7, check::Severity::warning, INT64_MIN)};
  EXPECT_FALSE(read_baseline(baseline_json(now, tree, "1")));
}

}  // namespace
}  // namespace tapelens::compare
