// Exports of the window: pictures, drawings, tables.
#include <gtest/gtest.h>

#include <QFile>
#include <QImage>
#include <QStandardItemModel>
#include <QSvgRenderer>
#include <QXmlStreamReader>

#include "gui/app/exports.h"
#include "gui/widgets/table.h"
#include "tests/gui/app_window.h"
#include "tests/gui/support/device_recording.h"

namespace tapelens::gui {
namespace {

using Rows = QList<QStringList>;

// Reads exactly RFC 4180: a line ends with CR LF, and a quoted field begins with the quote.
Rows read_csv(const QString& text) {
  Rows rows;
  QStringList row;
  QString field;
  enum { begin, plain, quoted, after_quote } state = begin;
  const auto end_field = [&] {
    row << field;
    field.clear();
    state = begin;
  };
  for (qsizetype i = 0; i < text.size(); ++i) {
    const QChar c = text[i];
    if (state == quoted) {
      if (c == '"') {
        state = after_quote;
      } else {
        field += c;
      }
    } else if (c == ',') {
      end_field();
    } else if (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n') {
      end_field();
      rows << row;
      row.clear();
      ++i;
    } else if (c == '"' && state == begin) {
      state = quoted;
    } else if (c == '"' && state == after_quote) {
      field += c;
      state = quoted;
    } else if (state == after_quote || c == '"' || c == '\r' || c == '\n') {
      ADD_FAILURE() << "at " << i << ": no CSV";
      return rows;
    } else {
      field += c;
      state = plain;
    }
  }
  EXPECT_TRUE(state == begin && row.isEmpty()) << "the last line does not end";
  return rows;
}

class Export : public testing::OnWindow {
 protected:
  void SetUp() override {
    OnWindow::SetUp();
    open_all(recording_.path(), other_.path());
  }
  QString path(const QString& name) const { return folder_.filePath(name); }
  QString text_of(const QString& name) const {
    QFile file(path(name));
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
  }

  testing::AdviceRecording recording_, other_{"python other.py"};
  testing::DeviceRecording device_;
};

TEST_F(Export, EveryPageAsAPicture) {
  for (const PageId id : testing::kAllPages) {
    show(id);
    Page& page = window_->page(id);
    EXPECT_EQ(testing::problem_of(export_page(page, path("page.PNG"))), "");
    const QImage picture(path("page.PNG"), "PNG");
    EXPECT_EQ(picture, page.picture()->grab().toImage().convertToFormat(picture.format()))
        << page.title().toStdString();
  }
}

TEST_F(Export, EveryPageAsADrawing) {
  for (const PageId id : testing::kAllPages) {
    if (id == PageId::segments) open(device_.path());  // a CPU has no segments
    show(id);
    Page& page = window_->page(id);
    EXPECT_EQ(testing::problem_of(export_page(page, path("page.svg"))), "");
    QSvgRenderer renderer(path("page.svg"));
    EXPECT_TRUE(renderer.isValid()) << page.title().toStdString();
    EXPECT_EQ(renderer.viewBox().size(), page.picture()->size());
    QXmlStreamReader xml(text_of("page.svg"));
    std::map<QString, int> elements;
    QString words;
    while (!xml.atEnd()) {
      if (xml.readNext() == QXmlStreamReader::StartElement) ++elements[xml.name().toString()];
      if (xml.isCharacters()) words += xml.text();
    }
    EXPECT_FALSE(xml.hasError()) << xml.errorString().toStdString();
    EXPECT_GT(elements["text"], 5) << page.title().toStdString();
    EXPECT_TRUE(words.contains("MiB")) << page.title().toStdString();
    EXPECT_TRUE(words.contains("Tapelens: " + page.title()));
    if (id == PageId::timeline) {
      EXPECT_EQ(elements["image"], 0) << "a picture in a drawing cannot be enlarged";
      EXPECT_GT(elements["rect"] + elements["path"] + elements["polyline"], 50);
    }
  }
}

TEST_F(Export, ADrawingOfTheTimelineLooksLikeIt) {
  show(PageId::timeline);
  Page& page = window_->page(PageId::timeline);
  ASSERT_EQ(testing::problem_of(export_page(page, path("timeline.svg"))), "");
  QImage drawn(page.picture()->size(), QImage::Format_RGB32), shown = page.picture()->grab().toImage();
  drawn.fill(Qt::white);
  QPainter painter(&drawn);
  QSvgRenderer(path("timeline.svg")).render(&painter);
  painter.end();
  int near = 0, all = 0;
  for (int y = 2; y < drawn.height(); y += 5) {
    for (int x = 2; x < drawn.width(); x += 5, ++all) {
      const QColor a = drawn.pixelColor(x, y), b = shown.pixelColor(x, y);
      near += std::abs(a.lightness() - b.lightness()) < 48 ? 1 : 0;
    }
  }
  EXPECT_GT(near, all * 9 / 10);
}

TEST_F(Export, EveryTableIsReadAgainAsItWas) {
  for (const PageId id : testing::kAllPages) {
    if (id == PageId::segments) open(device_.path());
    show(id);
    Page& page = window_->page(id);
    if (page.table() == nullptr) {
      EXPECT_EQ(id, PageId::timeline);
      continue;
    }
    const QAbstractItemModel& table = *page.table();
    ASSERT_GT(table.rowCount(), 0) << page.title().toStdString();
    EXPECT_EQ(testing::problem_of(export_page(page, path("table.csv"))), "");
    const Rows rows = read_csv(text_of("table.csv"));
    QModelIndexList all;  // with their children
    for (int row = 0; row < table.rowCount(); ++row) {
      const QModelIndex of = table.index(row, 0);
      all << of;
      for (int below = 0; below < table.rowCount(of); ++below) all << table.index(below, 0, of);
    }
    ASSERT_EQ(rows.size(), all.size() + 1);
    for (const QStringList& row : rows) EXPECT_EQ(row.size(), table.columnCount());
    for (int column = 0; column < table.columnCount(); ++column) {
      EXPECT_FALSE(rows[0][column].isEmpty());
      for (qsizetype row = 0; row < all.size(); ++row) {
        const QModelIndex index = all[row].siblingAtColumn(column);
        const QVariant exact = index.data(Qt::EditRole);
        EXPECT_EQ(rows[row + 1][column], (exact.isValid() ? exact : index.data()).toString());
      }
    }
  }
}

TEST_F(Export, BytesAreNumbersThatAddUp) {
  show(PageId::peak);
  ASSERT_EQ(testing::problem_of(export_page(window_->page(PageId::peak), path("peak.csv"))), "");
  const Rows rows = read_csv(text_of("peak.csv"));
  int64_t sum = 0;
  for (qsizetype i = 1; i < rows.size(); ++i) sum += rows[i][0].toLongLong();
  EXPECT_EQ(sum, session().subject().device.peak.value);
}

TEST_F(Export, OnlyWhatIsShownAndInItsOrder) {
  show(PageId::peak);
  key(Qt::Key_F, Qt::ControlModifier);
  QTest::keyClicks(QApplication::focusWidget(), "relu");
  Page& page = window_->page(PageId::peak);
  page.table()->sort(0, Qt::AscendingOrder);
  ASSERT_EQ(testing::problem_of(export_page(page, path("peak.csv"))), "");
  const Rows rows = read_csv(text_of("peak.csv"));
  EXPECT_EQ(rows.size(), page.table()->rowCount() + 1);
  EXPECT_LT(rows.size() - 1, static_cast<qsizetype>(session().moment()->described.allocations.size()));
  for (qsizetype i = 2; i < rows.size(); ++i) EXPECT_GE(rows[i][0].toLongLong(), rows[i - 1][0].toLongLong());
}

TEST(Csv, AwkwardCellsAreQuoted) {
  QStandardItemModel table(2, 3);
  table.setHorizontalHeaderLabels({"plain", "with, comma", "\"all\""});
  const QStringList cells = {"a,b", "say \"yes\"", "two\nlines", "", " space ", "only\rreturn"};
  for (int i = 0; i < 6; ++i) table.setItem(i / 3, i % 3, new QStandardItem(cells[i]));
  const QString text = csv_text(table);
  EXPECT_TRUE(text.startsWith("plain,\"with, comma\",\"\"\"all\"\"\"\r\n\"a,b\",\"say \"\"yes\"\"\","));
  const Rows rows = read_csv(text);
  ASSERT_EQ(rows.size(), 3);
  EXPECT_EQ(rows[1] + rows[2], cells);
  for (const QString& line : pasted_text(table).split('\n', Qt::SkipEmptyParts)) {
    EXPECT_EQ(line.count('\t'), 2);
    EXPECT_FALSE(line.contains('\r'));
  }
}

TEST_F(Export, OtherNamesAreRefusedInASentence) {
  Page& timeline = window_->page(PageId::timeline);
  EXPECT_EQ(testing::problem_of(export_page(timeline, path("a.gif"))),
            path("a.gif") + ": a name ends with .png, .svg or .csv");
  EXPECT_EQ(testing::problem_of(export_page(timeline, path("a"))), path("a") + ": a name ends with .png, .svg or .csv");
  EXPECT_EQ(testing::problem_of(export_page(timeline, path("a.csv"))),
            path("a.csv") + ": the Timeline page has no table: .png or .svg");
  for (const char* ending : {"png", "svg", "csv"}) {
    const QString nowhere = path(QString("no/such/a.") + ending);
    EXPECT_TRUE(testing::problem_of(export_page(window_->page(PageId::peak), nowhere))
                    .startsWith(nowhere + ": cannot be written: "));
  }
}

TEST_F(Export, TheDialogWritesWhatItsNameSays) {
  show(PageId::steps);
  on_dialog<QFileDialog>([&](QFileDialog& dialog) { type_path(dialog, path("steps.csv")); });
  key(Qt::Key_E, Qt::ControlModifier);
  EXPECT_EQ(read_csv(text_of("steps.csv")).size(), window_->page(PageId::steps).table()->rowCount() + 1);
  on_dialog<QFileDialog>([&](QFileDialog& dialog) { type_path(dialog, path("steps.bmp")); });
  key(Qt::Key_E, Qt::ControlModifier);
  EXPECT_TRUE(says("a name ends with .png, .svg or .csv"));
}

}  // namespace
}  // namespace tapelens::gui
