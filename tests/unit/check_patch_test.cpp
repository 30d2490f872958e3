// The supported forms of statements, and the diffs that fix them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "analyzer/check/patch_maker.h"
#include "analyzer/check/reference.h"
#include "analyzer/model/steps.h"
#include "analyzer/peak/analysis.h"
#include "analyzer/report/fixes.h"
#include "testing/model_builder.h"
#include "trace/checksum.h"

namespace tapelens::check {
namespace {

using advise::Advice;
using advise::Finding;

using testing::kCpu;
using testing::ProcessBuilder;

std::vector<std::string_view> views(const std::vector<std::string>& lines) { return {lines.begin(), lines.end()}; }

TEST(UnifiedDiff, HasThreeLinesAroundAndJoinsWhatIsNear) {
  std::vector<std::string> lines;
  for (uint32_t i = 0; i < 30; ++i) lines.push_back(std::to_string(i) + "\n");
  lines[29] = "29";
  const std::vector<std::string_view> all = views(lines);
  const FileEdit file = file_edit("a b.py", all, {{28, 1, {"x\n", "y\n"}}, {5, 0, {"new\n"}}, {9, 1, {}}});
  EXPECT_EQ(unified_diff(file),
            "--- a/a b.py\t\n+++ b/a b.py\t\n"
            "@@ -3,11 +3,11 @@\n 2\n 3\n 4\n+new\n 5\n 6\n 7\n 8\n-9\n 10\n 11\n 12\n"
            "@@ -26,5 +26,6 @@\n 25\n 26\n 27\n-28\n+x\n+y\n 29\n\\ No newline at end of file\n");
  ASSERT_EQ(file.edits.size(), 3U);
  EXPECT_FALSE(file.lines.contains(1)) << "what no diff shows";
  EXPECT_EQ(unified_diff(std::vector{file, file}), unified_diff(file) + unified_diff(file));
}

TEST(UnifiedDiff, EditsThatTouchAreOne) {
  const FileEdit file =
      file_edit("x.py", std::vector<std::string_view>{"a\n", "b\n", "c\n"}, {{1, 1, {"B\n"}}, {2, 0, {"new\n"}}});
  ASSERT_EQ(file.edits.size(), 1U);
  EXPECT_EQ(unified_diff(file), "--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n+new\n c\n");
}

TEST(UnifiedDiff, IsReadAsItIsWritten) {
  std::vector<std::string> lines;
  for (uint32_t i = 0; i < 60; ++i) lines.push_back(std::to_string(i) + (i % 7 == 0 ? "\r\n" : "\n"));
  lines[59] = "59";
  for (const char* name : {"x.py", "a b/c.py", "q\"\\\t\x01.py", "\xc3\xa4.py"}) {
    const FileEdit file =
        file_edit(name, views(lines), {{0, 1, {}}, {4, 0, {"new\n", "\n", "-- \n"}}, {20, 3, {"x\n"}}, {59, 1, {"y"}}});
    const auto read = read_unified_diff(unified_diff(std::vector{file, {"z", {}, {{0, 0, {"z\n"}}}}}));
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->size(), 2U);
    EXPECT_EQ((*read)[0].path, name);
    EXPECT_EQ((*read)[0].edits, file.edits);
    EXPECT_EQ((*read)[0].lines, file.lines);
    EXPECT_EQ((*read)[1].edits, (std::vector<Edit>{{0, 0, {"z\n"}}}));
  }
}

TEST(UnifiedDiff, OfGitAndOfDiffIsFollowedToTheLetter) {
  const std::string git =
      "From: author\n\ndiff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\n+++ b/x.py\n"
      "@@ -1,3 +1,3 @@ def f():\n a\n\n-b\n+B\n\\ No newline at end of file\n";
  const auto read = read_unified_diff(git);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*applied((*read)[0], "a\n\nb\n"), "a\n\nB");
  EXPECT_EQ(applied((*read)[0], "a\n\nc\n").error().message, "x.py:3: the line is not the one that the patch changes");
  EXPECT_FALSE(applied((*read)[0], "a\n\nb")) << "a last line without its break is another one";
  EXPECT_FALSE(applied((*read)[0], "a\n"));
  const auto added = read_unified_diff("--- /dev/null\n+++ b/src/n.py\t2026-01-01\n@@ -0,0 +1 @@\n+x\n");
  ASSERT_TRUE(added) << added.error().message;
  EXPECT_EQ((*added)[0].path, "src/n.py");
  EXPECT_EQ(*applied((*added)[0], ""), "x\n");
}

TEST(UnifiedDiff, WhatCannotBeFollowedIsRefused) {
  const std::string files = "--- a/x.py\n+++ b/x.py\n";
  for (const std::string& bad :
       {std::string(), std::string("text\n"), files, files + "@@ -1 +1 @@\n-a\n", files + "@@ -1 +1 @@\n*a\n+b\n",
        files + "@@ 1 +1 @@\n-a\n+b\n", files + "@@ -0,1 +1 @@\n-a\n+b\n", files + "@@ -99999999999 +1 @@\n-a\n+b\n",
        files + "@@ -5 +5 @@\n-a\n+b\n@@ -5 +5 @@\n-a\n+b\n", "@@ -1 +1 @@\n-a\n+b\n" + files,
        std::string("--- a/../x.py\n+++ b/../x.py\n@@ -1 +1 @@\n-a\n+b\n"),
        std::string("--- a//etc/x\n+++ b//etc/x\n@@ -1 +1 @@\n-a\n+b\n"),
        std::string("--- a/x.py\n+++ b/y.py\n@@ -1 +1 @@\n-a\n+b\n"),
        std::string("--- a/x.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"),
        std::string("diff --git a/x b/y\nrename from x\nrename to y\n"),
        std::string("Binary files a/x and b/x differ\n"),
        files + "@@ -1 +1 @@\n-a\n+b\n" + files + "@@ -1 +1 @@\n-a\n+b\n"}) {
    EXPECT_FALSE(read_unified_diff(bad)) << bad;
  }
  EXPECT_EQ(read_unified_diff(files + "@@ -1 +1 @@\n-a\n").error().message,
            "line 5: the hunk has not as many lines as it says");
}

Finding with_patch(std::string id, const FileEdit& edit) {
  Finding finding;
  finding.id = std::move(id);
  finding.title = "title";
  finding.fix.use_edits({edit});
  return finding;
}

TEST(AllPatches, WhatChangesTheSameLinesIsLeftOut) {
  std::vector<std::string> lines;
  for (uint32_t i = 0; i < 9; ++i) lines.push_back(std::to_string(i) + "\n");
  const auto edit = [&](Edit one) { return file_edit("x.py", views(lines), {std::move(one)}); };
  Advice advice;
  advice.findings.push_back(with_patch("1", edit({4, 1, {"four\n"}})));
  advice.findings.push_back(with_patch("2", edit({4, 1, {"4.0\n"}})));
  advice.findings.push_back(with_patch("3", edit({4, 1, {"four\n"}})));
  advice.findings.push_back(with_patch("4", edit({2, 0, {"new\n"}})));
  advice.findings.emplace_back();  // a finding without a patch
  advice.findings.push_back(with_patch("6", {"x.py", {{1, "other\n"}}, {{1, 1, {"y\n"}}}}));
  const report::CombinedPatch all = report::combined_patch(advice);
  EXPECT_EQ(unified_diff(all.files),
            "--- a/x.py\n+++ b/x.py\n@@ -1,8 +1,9 @@\n 0\n 1\n+new\n 2\n 3\n-4\n+four\n 5\n 6\n 7\n");
  ASSERT_EQ(all.left_out.size(), 2U);
  EXPECT_NE(all.left_out[0].find("finding 2 (title)"), std::string::npos);
  EXPECT_NE(all.left_out[1].find("finding 6"), std::string::npos);
}

// A file of a repository, and a recording with operators at its lines.
class Patching : public ::testing::Test, protected ProcessBuilder {
 protected:
  Patching() : root_(std::filesystem::temp_directory_path() / ("tapelens_patch_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(root_);
  }
  ~Patching() override { std::filesystem::remove_all(root_); }

  // An operator in a step of the program, called at a line. Several lines are ordered from the innermost.
  NodeId at(std::initializer_list<std::pair<uint32_t, std::string_view>> lines, bool is_free, std::string_view name) {
    std::vector<FrameId> frames;
    for (const auto& [line, function] : lines) frames.push_back(frame((root_ / "train.py").string(), line, function));
    stack_ = stack(frames);
    const OperatorId op = this->op(time_, time_ + 5, name, {}, stack_);
    const NodeId node = this->node(time_ + 1, "ABackward0", op);
    if (is_free) free_.insert(node.value);
    time_ += 10;
    return node;
  }
  StackId here(uint32_t line, bool is_free = true, std::string_view function = "<module>",
               std::string_view name = "aten::add") {
    at({{line, function}}, is_free, name);
    return stack_;
  }
  // The answer of `ask` about the program.
  template <class Ask>
  auto asked(const std::string& program, Ask ask) {
    std::ofstream(root_ / "train.py", std::ios::binary) << program;
    if (is_recorded_) {
      const StringId path = string((root_ / "train.py").string());
      text.sources = {{path, program.size(), trace::checksum_of(program.data(), program.size())}};
    }
    done();
    const SourceTree sources{root_, root_};
    const peak::Analysis analysis(process, text);
    const peak::Timeline timeline(process, kCpu);
    const peak::PeakSet peak = peak::peak_set(process, text, kCpu, {});
    const Context context{
        process, text, analysis.steps(), analysis.phases(), analysis.provenance(), analysis.lifetimes(), kCpu, timeline,
        peak,    "",   nullptr,          &sources,          std::nullopt};
    return ask(context);
  }
  // The changed lines of the program.
  template <class Ask>
  std::string changed(const std::string& program, Ask ask) {
    std::string lines;
    const FileEdits edits = asked(program, [&](const Context& context) {
      if constexpr (std::is_invocable_v<Ask, PatchMaker>) {
        return ask(PatchMaker(context));
      } else {
        return ask(PatchMaker(context), FreeCalls(context, is_free()));
      }
    });
    for (const FileEdit& file : edits) {
      EXPECT_EQ(file.path, "train.py");
      for (const Edit& edit : file.edits) {
        for (const std::string& line : edit.added) lines += line;
      }
    }
    return lines;
  }
  FreeCalls::IsFree is_free() {
    return [this](NodeId node) { return free_.contains(node.value); };
  }

  std::filesystem::path root_;
  StackId stack_{};
  std::set<uint32_t> free_;
  int64_t time_ = 10;
  bool is_recorded_ = true;  // whether the recording has the source file's content
};

TEST_F(Patching, AFileThatMayNotBeTheOneThatRanIsLeftAlone) {
  const StackId line2 = here(2);
  is_recorded_ = false;
  const std::string program = "total = 0\ntotal += loss\nprint(float(total))\n";
  EXPECT_EQ(changed(program, [&](const PatchMaker& p) { return p.detach_summand(line2, true); }), "");
}

TEST_F(Patching, ASumOfLossesBecomesASumOfNumbersWhereNothingElseIsDoneWithIt) {
  const StackId line2 = here(2);
  const auto sum = [&](const PatchMaker& p) { return p.detach_summand(line2, true); };
  EXPECT_EQ(changed("total = 0.0\ntotal += loss\nprint(float(total))\n", sum), "total += loss.item()\n");
  EXPECT_EQ(changed("total = 0.0\ntotal = total + out.loss  # all\n", sum), "total = total + out.loss.item()  # all\n");
  EXPECT_EQ(changed("total = 0.0\ntotal += loss\nprint(total.item())\n", sum), "total += loss.detach()\n");
  EXPECT_EQ(changed("total = 0.0\ntotal += loss\nprint(f'{total.item()}')\n", sum), "total += loss.detach()\n");
  EXPECT_EQ(changed("total = 0.0\ntotal += loss\nreturn_it(total)\n", sum), "total += loss.detach()\n");
  EXPECT_EQ(changed("total = torch.zeros(())\ntotal += loss\n", sum), "total += loss.detach()\n");
  EXPECT_EQ(changed("self.total = 0\nself.total += loss\n", sum), "self.total += loss.detach()\n");
  const auto tensors = [&](const PatchMaker& p) { return p.detach_summand(line2, false); };
  EXPECT_EQ(changed("total = 0.0\ntotal += loss\n", tensors), "total += loss.detach()\n");
}

TEST_F(Patching, OtherSumsAreLeftToAPerson) {
  const StackId line2 = here(2);
  for (const char* program : {"t = 0\nt += loss * 2\n", "t = 0\nt += f(loss)\n", "t = 0\nt = loss + other\n",
                              "t = 0\nt += loss; n += 1\n", "if t:\n  pass\nelse: t += loss\n", "t = 0\nt -= loss\n",
                              "t = 0\nt = t + t\n", "t = (0\n", "\n\n\n", "t = 0\ng = lambda: t + loss\n"}) {
    EXPECT_EQ(changed(program, [&](const PatchMaker& p) { return p.detach_summand(line2, true); }), "") << program;
  }
}

TEST_F(Patching, FilesOutsideOfTheRepositoryAreNotLookedAt) {
  const StackId elsewhere = stack({frame("/etc/hostname.py", 1, "f")}),
                library = stack({frame((root_ / "lib/python3.11/a.py").string(), 1, "f")});
  changed("t += loss\n", [&](const PatchMaker& p) {
    EXPECT_TRUE(p.detach_summand(elsewhere, true).empty());
    EXPECT_TRUE(p.detach_summand(library, true).empty());
    EXPECT_TRUE(p.detach_summand({}, true).empty());
    return FileEdits();
  });
}

TEST_F(Patching, AListOfLossesBecomesAListOfNumbers) {
  const StackId line3 = here(3);
  const auto ask = [&](const PatchMaker& p) { return p.detach_collected(line3, true, false); };
  EXPECT_EQ(changed("losses = []\nfor x in data:\n    loss = f(x)\n    loss.backward()\n    losses.append(loss)\n"
                    "print(sum(losses) / len(losses))\n",
                    ask),
            "    losses.append(loss.item())\n");
  EXPECT_EQ(changed("losses = []\nfor x in data:\n    losses.append(f(x))\ntorch.stack(losses)\n", ask),
            "    losses.append(f(x).detach())\n");
  EXPECT_EQ(
      changed("losses = []\nfor x in data:\n    loss = f(x)\n    loss = loss + 1\n    losses.append(loss)\n", ask), "");
  EXPECT_EQ(changed("losses = []\nfor x in data:\n    loss = f(x)\n    a.append(loss)\n    b.append(loss)\n", ask), "");
  EXPECT_EQ(changed("losses = []\nfor x in data:\n    losses.append(a + b)\n", ask), "");
}

TEST_F(Patching, WhatIsCarriedOnIsDetachedBehindItsStatement) {
  const StackId line2 = here(2);
  const auto ask = [&](const PatchMaker& p) { return p.detach_carried(line2, "aten::add"); };
  const auto lstm = [&](const PatchMaker& p) { return p.detach_carried(line2, "aten::lstm"); };
  EXPECT_EQ(changed("if x:\n\taverage = 0.9 * average + loss\n", ask), "\taverage = average.detach()\n");
  EXPECT_EQ(changed("\nself.h = f(self.h)", ask), "self.h = f(self.h)\nself.h = self.h.detach()\n");
  EXPECT_EQ(changed("\nout, hidden = rnn(x, hidden)\n", lstm), "hidden = tuple(each.detach() for each in hidden)\n");
  EXPECT_EQ(changed("\na, b = f(a, b)\n", ask), "");
  EXPECT_EQ(changed("\na = f(x)\n", ask), "");
}

TEST_F(Patching, AFunctionOfWhichNothingIsDifferentiatedIsDecorated) {
  at({{4, "evaluate"}, {9, "main"}}, true, "aten::add");
  const StackId shown = stack_;
  here(8, false, "main");
  const auto ask = [&](const PatchMaker& p, const FreeCalls& calls) { return p.no_grad(shown, calls); };
  const std::string head = "import torch\n@static\ndef evaluate(x):\n    return x + 1\n\n";
  EXPECT_EQ(changed(head + "def main():\n    x = 1\n    train(x)\n    evaluate(x)\n", ask), "@torch.no_grad()\n");
  EXPECT_EQ(
      changed("import numpy\n" + head.substr(13) + "def main():\n    x = 1\n    train(x)\n    evaluate(x)\n", ask), "");
  EXPECT_EQ(changed("import torch\n\ndef evaluate(x):\n    yield x + 1\n\ndef main():\n    x = 1\n    train(x)\n    "
                    "evaluate(x)\n",
                    ask),
            "");
}

TEST_F(Patching, ALoopOfWhichNothingIsDifferentiatedIsWrapped) {
  const StackId shown = here(6);
  here(3, false);
  const auto ask = [&](const PatchMaker& p, const FreeCalls& calls) { return p.no_grad(shown, calls); };
  EXPECT_EQ(
      changed("import torch\nfor e in range(3):\n    train(x)\n    for x in data:\n        # seen\n        s += f(\n"
              "            x)\n\n        n += 1\n    print(s)\n",
              ask),
      "    with torch.no_grad():\n        for x in data:\n            # seen\n            s += f(\n"
      "                x)\n\n            n += 1\n");
  EXPECT_EQ(changed("import torch\nif a:\n    train(x)\n    x = 1\n    y = 2\n    s = f(x)\n", ask),
            "    with torch.no_grad():\n        s = f(x)\n");
  EXPECT_EQ(changed("import torch\nif a:\n    train(x)\n    x = 1\n    y = 2\n    s = f('''\n''')\n", ask), "");
  EXPECT_EQ(
      changed("import torch\nif a:\n    train(x)\n    x = 1\n    for x in d:\n        f(x)\n    else:\n        g()\n",
              ask),
      "");
}

TEST_F(Patching, WhereATensorIsKeptIsReadOffTheSource) {
  at({{2, "forward"}, {6, "<module>"}}, true, "aten::linear");
  const StackId inner = stack_;
  const auto kept = [&](const std::string& program) {
    const auto found = asked(program, [&](const Context& context) {
      Place made{};
      made.op = OperatorId{1};
      made.stack = inner;
      return reference_of(context, made);
    });
    return found ? std::pair(found->line.line, found->name) : std::pair(0U, std::string("unknown"));
  };
  const std::string call = "\n\n\nlogits, loss = forward(x)\nloss.backward()\n";
  EXPECT_EQ(kept("def forward(x):\n    logits = linear(x)\n    return logits, 1" + call),
            std::pair(6U, std::string("logits")));
  EXPECT_EQ(kept("def forward(x):\n    logits = linear(x)\n    return 1, f(logits)" + call),
            std::pair(2U, std::string("logits")));
  EXPECT_EQ(kept("def forward(x):\n    h = linear(x)\n    seen.append(h.detach())" + call),
            std::pair(3U, std::string("seen")));
  EXPECT_EQ(kept("def forward(x):\n    h = linear(x)\n    self.last = h" + call),
            std::pair(3U, std::string("self.last")));
  EXPECT_EQ(kept("def forward(x):\n    h = linear(x)\n    h = 1; seen.append(h)" + call),
            std::pair(2U, std::string("h")));
  EXPECT_EQ(kept("def forward(x):\n    return linear(x)\n" + call), std::pair(6U, std::string("logits")));
  EXPECT_EQ(kept("def forward(x):\n    loss = f(linear(x), y)\n" + call), std::pair(0U, std::string("unknown")));
  EXPECT_EQ(kept("def forward(x):\n    h = linear(x) + 1\n" + call), std::pair(0U, std::string("unknown")));
}

TEST_F(Patching, GradientsThatAreZeroedAreGivenBackInstead) {
  const StackId line2 = here(2);
  const auto ask = [&](const PatchMaker& p) { return p.set_to_none(line2); };
  EXPECT_EQ(changed("o.step()\nself.o.zero_grad(set_to_none=False)  # why\n", ask),
            "self.o.zero_grad(set_to_none=True)  # why\n");
  for (const char* program : {"o.zero_grad()\n", "o.zero_grad(False)\n", "o.zero_grad(set_to_none=none)\n",
                              "for p in ps: p.grad.zero_()\n"}) {
    EXPECT_EQ(changed("o.step()\n" + std::string(program), ask), "") << program;
  }
}

}  // namespace
}  // namespace tapelens::check
