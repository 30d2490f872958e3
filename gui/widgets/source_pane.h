// The program's source at a line of a stack.
#pragma once

#include <QPlainTextEdit>
#include <QStringList>
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

// Read-only text with numbers of lines; one line is marked.
class SourceView : public QPlainTextEdit {
  Q_OBJECT
 public:
  explicit SourceView(QWidget* parent = nullptr);
  // `first`: number of the text's first line. `line`: the marked one, shown in the middle; 0: none.
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

  // `folders` are the recording's: where files that the program named without a folder are looked for. A recording can
  // name any file of this machine; source files below these folders, of the repository that the window was started in,
  // and of Python's environments are shown at once, everything else when the user asks for it.
  void set_folders(const QStringList& folders) { folders_ = folders; }
  // The folder of `recording`, and what its files of source held when the program was read from them: of one that has
  // changed since the pane says so.
  void set_recording(const QString& recording, const model::Text& text);
  // The innermost first; shows the program's own innermost frame. `none`: what is said if there is no stack.
  void show_stack(std::vector<report::Frame> stack, const QString& none);
  const std::vector<report::Frame>& stack() const { return stack_; }
  int frame() const;  // the one that is shown, in the stack
  void show_frame(int frame);

  static constexpr qint64 kMostBytes = 4 << 20;  // of larger files only the lines around are shown

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
  std::map<std::string, model::SourceFile, std::less<>> recorded_;  // by path, as frames have it
  std::vector<report::Frame> stack_;
  QString name_;  // of the file that is shown
  QLabel* title_;
  QLabel* remark_;
  QComboBox* frames_;
  QStackedWidget* pages_;
  SourceView* view_;
  QLabel* sentence_;
  QPushButton* show_anyway_;
};

}  // namespace tapelens::gui
