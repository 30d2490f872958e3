// The page without an open recording: how to open one, recent files, and how to make a recording.
#pragma once

#include <QStringList>
#include <QWidget>

class QLabel;
class QVBoxLayout;

namespace tapelens::gui {

class StartPage final : public QWidget {
  Q_OBJECT
 public:
  explicit StartPage(QWidget* parent = nullptr);
  void show_recent(const QStringList& paths);

 Q_SIGNALS:
  void open_wanted();
  void file_wanted(const QString& path);

 private:
  QVBoxLayout* recent_;
  QLabel* none_;
};

}  // namespace tapelens::gui
