// The card: its texts, and one picture in every image format.
#include <gtest/gtest.h>

#include <QFile>
#include <QImage>
#include <QPainter>
#include <QRegularExpression>
#include <QSvgRenderer>

#include "analyzer/report/advice_text.h"
#include "gui/app/exports.h"
#include "gui/models/facts.h"
#include "gui/models/visible_text.h"
#include "gui/widgets/theme.h"
#include "tests/gui/app_window.h"

namespace tapelens::gui {
namespace {

class Card : public testing::OnWindow {
 protected:
  void SetUp() override {
    OnWindow::SetUp();
    open(recording_.path());
  }
  QString drawing(const QSet<QString>& ticked = {}) {
    const QString path = folder_.filePath("card.svg");
    EXPECT_EQ(testing::problem_of(export_card(*session().document(), session().subject(), ticked, path)), "");
    EXPECT_TRUE(QSvgRenderer(path).isValid());
    QFile file(path);
    EXPECT_TRUE(file.open(QIODevice::ReadOnly));
    return QString::fromUtf8(file.readAll());
  }
  const advise::Advice& advice() { return session().subject().advised->advice; }

  testing::AdviceRecording recording_;
};

TEST_F(Card, SaysThePeakNowAndThenAndTheFixesInTheirOrder) {
  const QString text = drawing();
  EXPECT_TRUE(text.contains(bytes_words(advice().peak_before)));
  EXPECT_TRUE(text.contains(bytes_words(advice().peak_after_all)));
  ASSERT_LT(advice().peak_after_all, advice().peak_before);
  qsizetype at = 0;
  int said = 0;
  for (const advise::Entry& entry : advice().entries) {
    if (entry.change() <= Bytes{}) continue;
    // The card may truncate a long title.
    const QString title = visible(report::entry_title(advice(), entry)).left(20).toHtmlEscaped();
    at = text.indexOf(title, at);
    EXPECT_GE(at, 0) << title.toStdString();
    ++said;
  }
  EXPECT_GT(said, 0);
}

TEST_F(Card, ThePeakOfTheCurveIsBelowTheLegend) {
  const QString text = drawing();
  const auto place = [&](const QString& color, const QString& words) {
    const QRegularExpression line("<text fill=\"" + color + "\"[^>]* y=\"([0-9.]+)\"[^>]*>" +
                                  QRegularExpression::escape(words) + "</text>");
    const auto found = line.match(text);
    EXPECT_TRUE(found.hasMatch()) << words.toStdString();
    return found.captured(1).toDouble();
  };
  EXPECT_GE(place(theme().peak.name(), bytes_words(advice().peak_before)) - place(theme().faint.name(), "recorded"),
            15);
}

TEST_F(Card, OfWhatIsTickedHasThePeakWithoutItAlone) {
  const advise::Finding& finding = advice().findings.front();
  ASSERT_NE(finding.peak_after, advice().peak_after_all);
  const QString text = drawing({QString::fromStdString(finding.id)});
  EXPECT_TRUE(text.contains(bytes_words(finding.peak_after)));
  EXPECT_FALSE(text.contains(bytes_words(advice().peak_after_all)));
}

TEST_F(Card, HasTwoCurvesOfWhichOneIsLower) {
  QImage image(kCardSize, QImage::Format_RGB32);
  QPainter painter(&image);
  paint_card(painter, *session().document(), session().subject(), {});
  painter.end();
  int with = 0;
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x) with += image.pixelColor(x, y) == theme().what_if;
  EXPECT_GT(with, 100);
}

TEST_F(Card, IsExportedByTheMenu) {
  const QString path = folder_.filePath("a card.png");
  on_dialog<QFileDialog>([&](QFileDialog& dialog) { type_path(dialog, path); });
  action("Export card")->trigger();
  EXPECT_EQ(QImage(path, "PNG").size(), 2 * kCardSize);
  EXPECT_NE(
      testing::problem_of(export_card(*session().document(), session().subject(), {}, folder_.filePath("card.jpg"))),
      "");
  session().close();
  EXPECT_FALSE(action("Export card")->isEnabled());
}

}  // namespace
}  // namespace tapelens::gui
