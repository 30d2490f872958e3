// The bytes of each module by category, at the peak of each phase, as in `tapelens report --by module`.
#pragma once

#include <QByteArray>

#include "gui/models/module_tree.h"
#include "gui/models/session.h"
#include "gui/models/text_filter.h"
#include "gui/widgets/page.h"

class QLabel;
class QLineEdit;
class QStackedWidget;
class QTreeView;

namespace tapelens::gui {

class CategoryBar;
class ChoiceBar;

// Sorts by any column. Keeps modules whose path contains all words of a filter, and the modules above and below them.
class ModuleRows : public TextFilter {
 public:
  explicit ModuleRows(ModuleTree& tree, QObject* parent = nullptr);

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;
};

class ModulesPage : public Page {
 public:
  explicit ModulesPage(Session& session, QWidget* parent = nullptr);

  QString title() const override { return QStringLiteral("Modules"); }
  QAbstractItemModel* table() override;
  void find() override;
  void take_focus() override;
  QByteArray save_state() const override;
  void restore_state(const QByteArray& state) override;

 private:
  void lay_out();
  void show_modules();  // modules of the current subject
  void show_phase();
  void filter();
  void select(const QModelIndex& row);
  void show_at_peak(const QModelIndex& row);

  Session& session_;
  ModuleTree* tree_;
  ModuleRows* rows_;
  QLabel* headline_;
  ChoiceBar* phases_;
  CategoryBar* categories_;
  QLineEdit* filter_;
  QStackedWidget* states_;
  QLabel* nothing_;
  QTreeView* view_;
};

}  // namespace tapelens::gui
