// Source code in the window: the program at a line of a stack, a diff, the colors of Python.
#pragma once

#include <QPlainTextEdit>
#include <QStringList>
#include <QSyntaxHighlighter>
#include <QWidget>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analyzer/model/source_files.h"
#include "analyzer/report/report.h"

class QComboBox;
class QLabel;
class QPushButton;
class QStackedWidget;

namespace tapelens::gui {

// Highlights keywords, strings, numbers and comments of Python.
class PythonColors : public QSyntaxHighlighter {
 public:
  using QSyntaxHighlighter::QSyntaxHighlighter;

 protected:
  void highlightBlock(const QString& text) override;
};

// Read-only text with line numbers and one marked line.
class SourceView : public QPlainTextEdit {
  Q_OBJECT
 public:
  explicit SourceView(QWidget* parent = nullptr);
  // `first`: the number of the text's first line. `line`: the marked line, scrolled to the center; 0: none.
  void show_source(const QString& text, int first, int line);
  int gutter_width() const;
  void paint_gutter(const QRect& part);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void mark();
  void place_gutter();
  QWidget* gutter_;
  int first_ = 1, line_ = 0;
};

class SourcePane : public QWidget {
  Q_OBJECT
 public:
  explicit SourcePane(QWidget* parent = nullptr);

  // `folders` belong to the recording; relative paths of files are searched there. A recording can name any file of
  // this machine. Source files below these folders, in the repository of the working directory and in Python's
  // environments are shown at once; others only at the user's request.
  void set_folders(const QStringList& folders) { folders_ = folders; }
  // The folder of `recording`, and the recorded contents of its source files. The pane shows a note if a file has
  // changed since.
  void set_recording(const QString& recording, const model::Text& text);
  // `stack` is innermost first; shows the innermost frame of the program. `none`: the text for an empty stack.
  void show_stack(std::vector<report::Frame> stack, const QString& none);
  const std::vector<report::Frame>& stack() const { return stack_; }
  int frame() const;  // index of the shown frame in the stack
  void show_frame(int frame);

  static constexpr qint64 kMostBytes = 4 << 20;  // larger files are shown only around the line

 Q_SIGNALS:
  void frameChanged(int frame);

 protected:
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void cut_title();
  QString name_of(const std::string& file) const;
  QString found(const std::string& file) const;
  bool is_of_program(const QString& path) const;
  void show_text();
  void show_file(const QString& path);
  void say(const QString& sentence);

  QStringList folders_;
  std::map<std::string, model::SourceFile, std::less<>> recorded_;  // by path, as in frames
  std::vector<report::Frame> stack_;
  QString name_;  // name of the shown file
  QLabel* title_;
  QLabel* remark_;
  QComboBox* frames_;
  QStackedWidget* pages_;
  SourceView* view_;
  QLabel* sentence_;
  QPushButton* show_anyway_;
};

// A unified diff as read-only text; added and removed lines have a colored background.
class DiffView : public QPlainTextEdit {
  Q_OBJECT
 public:
  explicit DiffView(QWidget* parent = nullptr);
  void show_diff(const QString& diff);
  // Makes the view as high as its text, up to a number of lines; longer text scrolls.
  void fit(int most_lines);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void tint();
};

}  // namespace tapelens::gui
