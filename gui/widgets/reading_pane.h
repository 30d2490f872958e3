// The pane of a page whose recordings are not read yet: explains their use, shows the progress, and reports errors.
#pragma once

#include <QString>
#include <QWidget>

class QLabel;
class QProgressBar;
class QPushButton;

namespace tapelens::gui {

class ReadingPane : public QWidget {
  Q_OBJECT
 public:
  explicit ReadingPane(const QString& ask, QWidget* parent = nullptr);

  // `problem`: the error of the last read; empty: none.
  void show_state(const QString& message, const QString& problem, bool is_reading);
  void show_progress(double share);  // from 0 to 1
  void show_message(const QString& message);
  void set_askable(bool on);

 Q_SIGNALS:
  void asked();
  void cancelled();

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void paint_problem();

  QLabel *message_, *problem_;
  QProgressBar* progress_;
  QPushButton *cancel_, *ask_;
};

}  // namespace tapelens::gui
