// What the page of findings shows and writes, without a window.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <cmath>
#include <stdexcept>

#include "analyzer/report/findings.h"
#include "analyzer/verify/verdict_json.h"
#include "gui/models/findings_table.h"
#include "gui/models/plan.h"
#include "gui/models/verify_result.h"
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
  FindingsTable table_{session_};
};

TEST_F(Findings, AreRowsInTheOrderOfTheAdvice) {
  ASSERT_EQ(table_.rowCount(), static_cast<int>(advice().findings.size()));
  for (int row = 0; row < table_.rowCount(); ++row) {
    const advise::Finding& finding = advice().findings[static_cast<size_t>(row)];
    EXPECT_EQ(table_.index(row, FindingsTable::title).data().toString().toStdString(), finding.title);
    EXPECT_EQ(table_.index(row, FindingsTable::check).data().toString().toStdString(), finding.check);
    EXPECT_EQ(table_.index(row, 0).data(FindingsTable::id_role).toString(), id(finding));
    EXPECT_EQ(table_.row_of(id(finding)), row);
  }
  EXPECT_EQ(table_.row_of("no such id"), -1);
  EXPECT_EQ(table_.index(0, FindingsTable::reduction).data(), reduction_text(advice().findings[0]));
  EXPECT_EQ(table_.index(0, FindingsTable::fixing).data(), "rewrite, lossless");
}

TEST_F(Findings, KeepTheRulesOfAModelWhateverHappens) {
  FindingsFilter filter(table_);
  const Tester of_table(&table_, Tester::FailureReportingMode::Fatal),
      of_filter(&filter, Tester::FailureReportingMode::Fatal);
  session_.tick_all(table_.rewritable());
  filter.set_filter("relu Net.acta");
  EXPECT_LT(filter.rowCount(), table_.rowCount());
  EXPECT_GT(filter.rowCount(), 0);
  filter.sort(FindingsTable::bytes, Qt::DescendingOrder);
  filter.set_filter("matches nothing");
  EXPECT_EQ(filter.rowCount(), 0);
  filter.set_filter({});
  session_.close();
  EXPECT_EQ(table_.rowCount(), 0);
}

TEST_F(Findings, AreSortedByWhatTheNumbersAre) {
  FindingsFilter filter(table_);
  for (const int column : {FindingsTable::reduction, FindingsTable::bytes, FindingsTable::times}) {
    filter.sort(column, Qt::DescendingOrder);
    for (int row = 1; row < filter.rowCount(); ++row) {
      EXPECT_GE(filter.index(row - 1, column).data(FindingsTable::sort_role).toLongLong(),
                filter.index(row, column).data(FindingsTable::sort_role).toLongLong());
    }
  }
}

TEST_F(Findings, AreTickedInTheSession) {
  const QModelIndex box = table_.index(1, FindingsTable::title);
  EXPECT_TRUE(box.flags() & Qt::ItemIsUserCheckable);
  EXPECT_FALSE(table_.index(1, FindingsTable::bytes).flags() & Qt::ItemIsUserCheckable);
  EXPECT_EQ(box.data(Qt::CheckStateRole).toInt(), Qt::Unchecked);
  EXPECT_TRUE(table_.setData(box, Qt::Checked, Qt::CheckStateRole));
  EXPECT_EQ(session_.ticked(), QSet<QString>{id(advice().findings[1])});
  EXPECT_EQ(box.data(Qt::CheckStateRole).toInt(), Qt::Checked);
  EXPECT_FALSE(table_.setData(table_.index(1, FindingsTable::bytes), Qt::Checked, Qt::CheckStateRole));
  EXPECT_FALSE(table_.setData(box, "other", Qt::EditRole));
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
  const auto recording = trace::Recording::open(recording_.path().toStdString());
  ASSERT_TRUE(recording);
  advise::Checks checks = plugins::builtin_checks();
  const report::Advising advising{checks, {}, {}};
  const auto built = report::build(*recording, {}, &advising);
  ASSERT_TRUE(built);
  QSet<QString> all;
  for (const advise::Finding& finding : advice().findings) all.insert(id(finding));
  const std::string expected = report::plan(*built);
  EXPECT_EQ(plan_text(session_.document()->facts(), advised(), table_.rewritable()), expected);
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

TEST(VerifyCommand, IsQuotedForAShell) {
  EXPECT_EQ(verify_command("--plan", "/tmp/plan.json", "python train.py --name 'two words'"),
            "tapelens verify --plan /tmp/plan.json -- python train.py --name 'two words'");
  EXPECT_EQ(verify_command("--plan", "/tmp/it's a plan.json", "./a"),
            "tapelens verify --plan '/tmp/it'\\''s a plan.json' -- ./a");
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
    verdict.bare.step_ns = 2000000;
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

TEST_F(VerifyFile, ADifferenceIsNamedWithItsSite) {
  rewrites::Site site;
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
    EXPECT_TRUE(result.error().message.ends_with("is no result of tapelens verify --format json.")) << text;
  }
  // Of whole numbers nothing else is one: not a fraction, not what no integer holds.
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
