// The findings: the avoidable memory, the peak without it, and the plan that fixes it.
#pragma once

#include "gui/models/findings_tree.h"
#include "gui/widgets/page.h"

class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;
class QSplitter;
class QStackedWidget;
class QTreeView;

namespace tapelens::gui {

struct EntryWords;
class FindingPane;
class FitPane;
class ReductionCurve;
class VerifyPane;

class AdvicePage : public Page {
  Q_OBJECT
 public:
  explicit AdvicePage(Session& session, QWidget* parent = nullptr);

  QString title() const override { return tr("Advice"); }
  QAbstractItemModel* table() override { return &filter_; }
  void find() override;
  void take_focus() override;

  // Writes a plan of the ticked findings that a rewrite fixes.
  trace::Status save_plan(const QString& path);
  // Writes the patch of the selected finding.
  trace::Status save_patch(const QString& path);
  // Shows the output of `tapelens verify --format json`.
  void open_verify(const QString& path);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QWidget* make_content();
  QWidget* make_head();
  QWidget* make_list();
  void follow_session();
  void show_state();
  void show_headline();
  void show_selected();
  void show_ticks();
  void show_fit();
  void fit_columns();
  void select(const QModelIndex& current);
  void copy(const QString& text, const QString& what);
  void ask_plan();
  void ask_patch();
  void ask_verify();
  void look_for_verify();
  QString beside_recording(const QString& ending) const;
  QString command() const;  // empty: a plan must be saved first, or no rewritable finding is ticked
  EntryWords words_of(const QModelIndex& index) const;

  Session& session_;
  FindingsTree model_;
  FindingsFilter filter_;
  QString plan_path_;  // plan of the currently ticked findings; empty: not saved

  QStackedWidget *states_, *lists_;
  QLabel *message_, *headline_, *remark_, *refused_;
  QProgressBar* progress_;
  VerifyPane* verify_;
  FitPane* fit_;
  ReductionCurve* curve_;
  QLineEdit* filter_edit_;
  QPushButton *tick_all_, *tick_none_, *save_, *copy_, *open_;
  QTreeView* view_;
  FindingPane* finding_;
  bool is_fitting_ = false, drawn_ = false;  // the code resizes columns; the user resized one
};

}  // namespace tapelens::gui
