// A run while it is recorded: the window shows this page instead of those of a recording, until the recording exists.
#pragma once

#include <QWidget>
#include <memory>

#include "gui/models/live.h"

class QComboBox;
class QLabel;
class QTableView;

namespace tapelens::gui {

class CategoryBar;
class LiveCurve;
class LiveHolders;
class LiveSteps;

class LivePage final : public QWidget {
  Q_OBJECT
 public:
  explicit LivePage(QWidget* parent = nullptr);

  void follow(live::LiveTarget target);
  void stop();
  bool is_following() const { return follower_ != nullptr; }
  // The name of the recording. Requires is_following().
  QString title() const;
  // Null if nothing is followed, and until the spools were read once.
  const LiveFigures* figures() const { return follower_ ? follower_->figures().get() : nullptr; }

 Q_SIGNALS:
  void shown();  // new figures are on the page
  void sealed(const QString& path);
  void failed(const QString& sentence);

 private:
  void lay_out();
  void show_figures();
  void show_choices(const LiveFigures& figures);
  void choose();
  QString headline(const LiveFigures& figures) const;
  static QString amounts(const LiveFigures& figures);
  static QString counts(const LiveFigures& figures);
  QString ending(const LiveFigures& figures) const;

  std::unique_ptr<LiveFollower> follower_;
  QLabel *headline_, *amounts_, *counts_, *ending_;
  QComboBox *process_, *device_;
  CategoryBar* categories_;
  LiveCurve* curve_;
  LiveHolders* holders_;
  LiveSteps* steps_;
  QTableView *holders_view_, *steps_view_;
};

}  // namespace tapelens::gui
