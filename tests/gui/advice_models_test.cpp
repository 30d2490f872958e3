// Content and exports of the page of findings, without a window.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <cmath>
#include <stdexcept>

#include "analyzer/report/advice_text.h"
#include "analyzer/report/fixes.h"
#include "analyzer/report/next_commands.h"
#include "analyzer/verify/verdict.h"
#include "gui/models/findings_tree.h"
#include "gui/models/verifying.h"
#include "plugins/builtin.h"
#include "tests/gui/advice_recording.h"

namespace tapelens::gui {
namespace {

using Tester = QAbstractItemModelTester;

QString id(const advise::Finding& finding) { return QString::fromStdString(finding.id); }

class Findings : public ::testing::Test {
 protected:
  void SetUp() override {
    session_.open(recording_.path());
    ASSERT_TRUE(QTest::qWaitFor([&] { return session_.has(Part::advice); }, 20'000));
    ASSERT_GE(advice().findings.size(), 4U);
  }
  const Advised& advised() const { return *session_.subject().advised; }
  const advise::Advice& advice() const { return advised().advice; }

  testing::AdviceRecording recording_;
  Session session_;
  FindingsTree tree_{session_};
};

TEST_F(Findings, AreTheEntriesOfTheAdviceInItsOrderEachWithItsFindings) {
  ASSERT_EQ(tree_.rowCount(), static_cast<int>(advice().entries.size()));
  bool has_several = false;
  for (int row = 0; row < tree_.rowCount(); ++row) {
    const advise::Entry& entry = advice().entries[static_cast<size_t>(row)];
    const QModelIndex of = tree_.index(row, 0);
    EXPECT_EQ(of.data(), QString::number(row + 1));
    EXPECT_EQ(of.siblingAtColumn(FindingsTree::title).data().toString().toStdString(),
              report::entry_title(advice(), entry));
    EXPECT_EQ(of.siblingAtColumn(FindingsTree::change).data(Qt::EditRole).toLongLong(), -entry.change().value);
    EXPECT_EQ(of.siblingAtColumn(FindingsTree::after).data(Qt::EditRole).toLongLong(), entry.peak_after.value);
    EXPECT_EQ(tree_.rowCount(of), entry.findings.size() == 1 ? 0 : static_cast<int>(entry.findings.size()));
    EXPECT_EQ(tree_.index_of(id(advice().findings[entry.findings.front()])), of);
    for (int at = 0; at < tree_.rowCount(of); ++at) {
      has_several = true;
      const advise::Finding& finding = advice().findings[entry.findings[static_cast<size_t>(at)]];
      const QModelIndex below = tree_.index(at, 0, of);
      EXPECT_EQ(below.data(), QString("%1.%2").arg(row + 1).arg(at + 1));
      EXPECT_EQ(below.siblingAtColumn(FindingsTree::title).data().toString().toStdString(), finding.title);
      EXPECT_EQ(below.siblingAtColumn(FindingsTree::check).data().toString().toStdString(), finding.check);
      EXPECT_EQ(below.siblingAtColumn(FindingsTree::change).data(), change_text(finding));
      EXPECT_EQ(below.data(FindingsTree::id_role).toString(), id(finding));
      if (at > 0) {
        EXPECT_EQ(tree_.index_of(id(finding)), below);
      }
    }
  }
  EXPECT_TRUE(has_several);
  EXPECT_FALSE(tree_.index_of("no such id").isValid());
}

TEST_F(Findings, AColumnThatSaysTheSameEverywhereIsKnown) {
  EXPECT_FALSE(tree_.is_constant(FindingsTree::number) && tree_.rowCount() > 1);
  QSet<QString> fixes;
  for (int row = 0; row < tree_.rowCount(); ++row)
    fixes.insert(tree_.index(row, FindingsTree::fixing).data().toString());
  EXPECT_EQ(tree_.is_constant(FindingsTree::fixing), fixes.size() == 1);
}

TEST_F(Findings, KeepTheRulesOfAModelWhateverHappens) {
  FindingsFilter filter(tree_);
  const Tester of_table(&tree_, Tester::FailureReportingMode::Fatal),
      of_filter(&filter, Tester::FailureReportingMode::Fatal);
  session_.tick_all(tree_.rewritable());
  const auto rows = [](const QAbstractItemModel& model) {
    int count = model.rowCount();
    for (int row = 0; row < model.rowCount(); ++row) count += model.rowCount(model.index(row, 0));
    return count;
  };
  filter.set_filter("relu Net.acta");
  EXPECT_LT(rows(filter), rows(tree_));
  EXPECT_GT(rows(filter), 0);
  filter.sort(FindingsTree::bytes, Qt::DescendingOrder);
  filter.set_filter("matches nothing");
  EXPECT_EQ(filter.rowCount(), 0);
  filter.set_filter({});
  session_.close();
  EXPECT_EQ(tree_.rowCount(), 0);
}

TEST_F(Findings, AreSortedByWhatTheNumbersAre) {
  FindingsFilter filter(tree_);
  for (const int column : {FindingsTree::change, FindingsTree::bytes, FindingsTree::times}) {
    filter.sort(column, Qt::DescendingOrder);
    for (int row = 1; row < filter.rowCount(); ++row) {
      EXPECT_GE(filter.index(row - 1, column).data(FindingsTree::sort_role).toLongLong(),
                filter.index(row, column).data(FindingsTree::sort_role).toLongLong());
    }
  }
}

// The entry of the rewrites, which has several findings.
QModelIndex automatic(const FindingsTree& tree) {
  for (int row = 0; row < tree.rowCount(); ++row) {
    const QModelIndex of = tree.index(row, FindingsTree::number);
    if (tree.entry(of).kind == advise::Entry::Kind::automatic) return of;
  }
  return {};
}

TEST_F(Findings, AreTickedInTheSessionAnEntryWithAllOfItsFindings) {
  const QModelIndex box = automatic(tree_);
  ASSERT_GT(tree_.rowCount(box), 1);
  EXPECT_TRUE(box.flags() & Qt::ItemIsUserCheckable);
  EXPECT_FALSE(box.siblingAtColumn(FindingsTree::title).flags() & Qt::ItemIsUserCheckable);
  EXPECT_EQ(box.data(Qt::CheckStateRole).toInt(), Qt::Unchecked);
  const QModelIndex second = tree_.index(1, FindingsTree::number, box);
  EXPECT_TRUE(tree_.setData(second, Qt::Checked, Qt::CheckStateRole));
  EXPECT_EQ(session_.ticked(), QSet<QString>{id(tree_.finding(second))});
  EXPECT_EQ(second.data(Qt::CheckStateRole).toInt(), Qt::Checked);
  EXPECT_EQ(box.data(Qt::CheckStateRole).toInt(), Qt::PartiallyChecked);
  EXPECT_TRUE(tree_.setData(box, Qt::Checked, Qt::CheckStateRole));
  EXPECT_EQ(session_.ticked(), tree_.automatic());
  EXPECT_EQ(session_.ticked().size(), tree_.rowCount(box));
  EXPECT_EQ(box.data(Qt::CheckStateRole).toInt(), Qt::Checked);
  EXPECT_TRUE(tree_.setData(box, Qt::Unchecked, Qt::CheckStateRole));
  EXPECT_TRUE(session_.ticked().isEmpty());
  EXPECT_FALSE(tree_.setData(box.siblingAtColumn(FindingsTree::bytes), Qt::Checked, Qt::CheckStateRole));
  EXPECT_FALSE(tree_.setData(box, "other", Qt::EditRole));
}

TEST_F(Findings, WhatAppliesTheTickedIsThatOfTheCommandLine) {
  const QModelIndex box = automatic(tree_);
  EXPECT_EQ(tree_.applying({}), "");
  EXPECT_EQ(tree_.applying(tree_.automatic()).toStdString(), report::applying_text(advice(), tree_.entry(box)));
  EXPECT_EQ(tree_.applying({id(tree_.finding(tree_.index(1, 0, box)))}), "");
}

TEST_F(Findings, TheMemoryWithoutOneIsThatOfTheAdvice) {
  for (const advise::Finding& finding : advice().findings) {
    const WhatIfResult result = what_if(session_.subject(), {id(finding), "unknown"});
    EXPECT_EQ(result.findings, 1U);
    EXPECT_EQ(result.before, finding.peak_before);
    EXPECT_EQ(result.after, finding.peak_after) << finding.title;
  }
}

TEST_F(Findings, TheMemoryWithoutNoneIsWhatWasRecordedAndWithoutTheMaskableIsLess) {
  const WhatIfResult none = what_if(session_.subject(), {});
  EXPECT_EQ(none.findings, 0U);
  EXPECT_EQ(none.after, none.before);
  QSet<QString> masks;
  for (const advise::Finding& finding : advice().findings) {
    if (finding.check == "wide-save") masks.insert(id(finding));
  }
  ASSERT_EQ(masks.size(), 3);
  const WhatIfResult result = what_if(session_.subject(), masks);
  EXPECT_EQ(result.findings, 3U);
  EXPECT_LT(result.after, result.before);
  std::vector<Bytes> columns;
  result.curve.columns(session_.subject().timeline, {{Time{0}, session_.document()->facts().duration}, 50}, columns);
  EXPECT_EQ(*std::ranges::max_element(columns), result.after);
}

TEST_F(Findings, ThePlanOfAllThatARewriteFixesIsThatOfTheCommandLine) {
  const auto recording = run::Run::open(recording_.path().toStdString());
  ASSERT_TRUE(recording);
  advise::Checks checks = plugins::builtin_checks();
  const report::Advising advising{checks, {}, {}};
  const auto built = report::build(*recording, {}, &advising);
  ASSERT_TRUE(built);
  QSet<QString> all;
  for (const advise::Finding& finding : advice().findings) all.insert(id(finding));
  const std::string expected = report::plan(*built);
  EXPECT_EQ(plan_text(session_.document()->facts(), advised(), tree_.rewritable()), expected);
  EXPECT_EQ(plan_text(session_.document()->facts(), advised(), all), expected);
  EXPECT_NE(expected.find("wide-save"), std::string::npos);
}

TEST_F(Findings, ThePlanHasOnlyWhatIsTicked) {
  const QString first = id(advice().findings[0]);
  const std::string text = plan_text(session_.document()->facts(), advised(), {first});
  EXPECT_EQ(planned(advised(), {first}), 1U);
  EXPECT_NE(text.find(first.toStdString()), std::string::npos);
  for (size_t i = 1; i < advice().findings.size(); ++i)
    EXPECT_EQ(text.find(advice().findings[i].id), std::string::npos);
  EXPECT_EQ(planned(advised(), {}), 0U);
}

TEST(Commands, AreQuotedForAShell) {
  EXPECT_EQ(verify_command(plan_option("/tmp/plan.json"), "python train.py --name 'two words'"),
            "tapelens verify --apply /tmp/plan.json -- python train.py --name 'two words'");
  EXPECT_EQ(verify_command(plan_option("/tmp/it's a plan.json"), "./a"),
            "tapelens verify --apply '/tmp/it'\\''s a plan.json' -- ./a");
  EXPECT_EQ(run_command("--apply lossless", "./a"), "tapelens run --apply lossless -- ./a");
}

class VerifyFile : public ::testing::Test {
 protected:
  trace::Result<verify::Verdict> read(const QByteArray& text) {
    QFile file(folder_.filePath("v.json"));
    EXPECT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(text);
    file.close();
    return read_verify_result(file.fileName());
  }
  // As `tapelens verify` writes it.
  verify::Verdict read(const verify::Verdict& verdict) {
    auto result = read(QByteArray::fromStdString(verdict_json(verdict)));
    if (!result) throw std::runtime_error(result.error().message);
    return *result;
  }
  static verify::Verdict identical() {
    verify::Verdict verdict;
    verdict.compared = {.steps = 3, .losses = 3, .gradients = 1200, .parameters = 6};
    verdict.bare.peak.value = 10 << 20;
    verdict.bare.step = verify::StepTimes{2000000, 2000000, 2000000, 9};
    verdict.rewritten.peak.value = 5 << 20;
    return verdict;
  }
  static verify::Verdict different(verify::Difference difference) {
    verify::Verdict verdict = identical();
    verdict.difference = std::move(difference);
    return verdict;
  }
  QTemporaryDir folder_;
};

using Kind = verify::Difference::Kind;

TEST_F(VerifyFile, AnIdenticalRunSaysWhatWasCompared) {
  const verify::Verdict verdict = read(identical());
  EXPECT_EQ(verdict.answer(), verify::Answer::identical);
  EXPECT_EQ(verdict_title(verdict), "identical, bit for bit");
  EXPECT_EQ(verdict_text(verdict), "Compared were 3 steps: 3 losses, 1,200 gradients, 6 parameters after their step.");
  EXPECT_EQ(verdict_effect(verdict), "Peak 10.0 MiB \u2192 5.0 MiB (\u221250.0 %)");
}

TEST_F(VerifyFile, ATimeHasItsSpreadOrIsNotMeasurable) {
  verify::Verdict verdict = identical();
  verdict.rewritten.step = verify::StepTimes{3000000, 2900000, 3100000, 9};
  EXPECT_TRUE(verdict_effect(read(verdict)).endsWith(", a step 2.0 ms \u2192 3.0 ms, x1.50 (x1.45 to x1.55)"))
      << verdict_effect(verdict).toStdString();
  verdict.rewritten.step->steps = 2;
  EXPECT_TRUE(verdict_effect(read(verdict)).endsWith(", not measurable (2 steps)"));
}

TEST_F(VerifyFile, ADifferenceIsNamedWithItsSite) {
  policy::Site site;
  site.rewrite = "wide-save";
  site.module = "Net.a*";
  site.op = "aten::relu";
  site.node = "ReluBackward0";
  site.field = "result";
  site.file = "train.py";
  site.line = 7;
  const verify::Verdict verdict = read(different({.kind = Kind::gradient,
                                                  .rank = 1,
                                                  .step = 2,
                                                  .name = "w",
                                                  .bare = "00",
                                                  .rewritten = "",
                                                  .rewrite = "wide-save",
                                                  .site = site}));
  EXPECT_EQ(verdict_title(verdict), "different");
  EXPECT_EQ(verdict_text(verdict),
            "First differs the gradient of w in step 2 of rank 1: 00 bare, none rewritten. It comes from wide-save "
            "ReluBackward0.result of aten::relu in Net.a*, train.py:7.");
}

TEST_F(VerifyFile, AProgramThatDiffersByItselfIsSaidToDoSo) {
  verify::Verdict verdict =
      different({.kind = Kind::loss, .name = "", .bare = "0.1", .rewritten = "0.2", .rewrite = "", .site = {}});
  verdict.is_deterministic = false;
  verdict = read(verdict);
  EXPECT_EQ(verdict_title(verdict), "not deterministic by itself");
  EXPECT_TRUE(verdict_text(verdict).startsWith("Two bare runs differ first in the loss in step 0."));
}

TEST_F(VerifyFile, SumsInAnotherOrderAreSaidWithTheirErrors) {
  verify::Verdict verdict =
      different({.kind = Kind::gradient, .name = "w", .bare = "00", .rewritten = "01", .rewrite = "", .site = {}});
  verdict.rounding.emplace();
  verdict.rounding->gradients = {{"w", 5e-7, 1e-7, 6e-7}, {"b", 0.0, 1.4e-6, std::nan("")}};
  EXPECT_EQ(verdict_title(read(verdict)), "not the same bits");
  EXPECT_EQ(
      verdict_text(read(verdict)),
      "Rewrites that add in another order make the first difference, in the gradient of w in step 0, and all others. "
      "In the first step no gradient differs by more than 5.0e-07 of its largest element. From float64 the bare "
      "program's are off by up to 1.4e-06, the rewritten one's by up to inf.");
  verdict.rounding = verify::Rounding{"no gradient could be followed in float64", {}, 2};
  EXPECT_TRUE(verdict_text(read(verdict)).endsWith("is not known: no gradient could be followed in float64."));
}

TEST_F(VerifyFile, WhereNothingWasComparedThereIsNoVerdict) {
  verify::Verdict verdict = identical();
  verdict.compared.gradients = verdict.compared.parameters = 0;
  verdict = read(verdict);
  EXPECT_EQ(verdict_title(verdict), "no verdict");
  EXPECT_TRUE(verdict_text(verdict).startsWith("No gradient and no parameter could be compared."));
}

TEST_F(VerifyFile, WhatIsNoResultIsOneSentence) {
  for (const char* text : {"", "{", "[]", "{\"identical\": 3}", "{\"identical\": true}", "null"}) {
    const auto result = read(QByteArray(text));
    ASSERT_FALSE(result);
    EXPECT_TRUE(result.error().message.ends_with("is not a result of tapelens verify --format json.")) << text;
  }
  // A whole number is refused if it is negative, a fraction, a string, or too large for an integer.
  for (const char* number : {"-1", "1.5", "1e49", "9223372036854775808", "true", "\"1\""}) {
    QByteArray text = QByteArray::fromStdString(verdict_json(identical()));
    ASSERT_TRUE(text.contains("\"steps\": 3"));
    EXPECT_FALSE(read(text.replace("\"steps\": 3", QByteArray("\"steps\": ") + number))) << number;
  }
  const auto none = read_verify_result(folder_.filePath("none.json"));
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("cannot be read"), std::string::npos);
}

}  // namespace
}  // namespace tapelens::gui
