// The ranks of a run: outliers with reasons, ranks that died, and shared findings.
#pragma once

#include "gui/models/ranks.h"
#include "gui/models/session.h"
#include "gui/widgets/page.h"

class QLabel;
class QLineEdit;
class QPushButton;
class QSortFilterProxyModel;
class QStackedWidget;
class QTableView;

namespace tapelens::gui {

class ChoiceBar;
class EnvelopeView;
class ReadingPane;

class RanksPage : public Page {
 public:
  explicit RanksPage(Session& session, QWidget* parent = nullptr);

  QString title() const override { return QStringLiteral("Ranks"); }
  QAbstractItemModel* table() override;
  bool is_busy() const override { return ranks_.is_reading(); }
  void find() override;
  void take_focus() override;

  void open_folder(const QString& folder) { ranks_.open(folder); }
  const Ranks& ranks() const { return ranks_; }

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  QWidget* make_content();
  QTableView* make_table(QSortFilterProxyModel& rows, const QString& name);
  void ask();
  void read_own_folder();  // if the recording is one rank of several, and no folder was read yet
  void show_state();
  void show_job();
  void show_list();

  Session& session_;
  Ranks ranks_;
  RanksTable* table_;
  SharedFindings* findings_;
  QSortFilterProxyModel *rows_, *finding_rows_;
  std::shared_ptr<const ranks::Job> shown_;
  bool was_read_ = false;  // the recording's folder was read, or the user chose another one

  QStackedWidget* states_;
  ReadingPane* reading_;
  QStackedWidget* lists_;
  QLabel *headline_, *command_, *odd_, *remarks_;
  QPushButton* ask_again_;
  EnvelopeView* envelope_;
  ChoiceBar* tabs_;
  QLineEdit* filter_;
  QTableView *view_, *findings_view_;
};

}  // namespace tapelens::gui
