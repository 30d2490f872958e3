// Compares two recordings, before and after: both curves, the difference of the peak sets as groups, and by module as a
// picture.
#pragma once

#include "gui/models/other.h"
#include "gui/widgets/context_menu.h"
#include "gui/widgets/page.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QStackedWidget;
class QTableView;

namespace tapelens::gui {

class IcicleView;
class ReadingPane;
class StepsCurve;

class ComparePage : public Page {
  Q_OBJECT
 public:
  explicit ComparePage(Session& session, QWidget* parent = nullptr);

  QString title() const override { return tr("Compare"); }
  QAbstractItemModel* table() override { return &filter_; }
  void find() override;

  void open_other(const QString& path);
  const Other& other() const { return other_; }

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  QWidget* make_content();
  QWidget* make_pictures();
  QWidget* make_bar();
  // The target of a group of the table; `shown`: its name as the table shows it.
  ContextTarget target_of_group(const std::string& name, const QString& shown) const;
  void ask();
  void choose();
  void show_recordings();
  void show_comparison();
  void show_filter();
  void show_legend();
  void select_modules();

  Session& session_;
  Other other_;
  CompareTable model_;
  CompareFilter filter_;

  QStackedWidget* states_;
  ReadingPane* reading_;
  QStackedWidget* lists_;
  QLabel *headline_, *remark_, *sum_;
  QPushButton* ask_again_;
  StepsCurve* curve_;
  IcicleView* icicle_;
  QLabel* legend_;
  bool selects_modules_ = false;  // as soon as the comparison by module is ready
  QComboBox *step_, *by_;
  QLineEdit* filter_edit_;
  QTableView* view_;
};

}  // namespace tapelens::gui
