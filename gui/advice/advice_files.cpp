// The files and commands of the page of findings: plans, patches, results of verify.
#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QTreeView>

#include "gui/advice/advice_page.h"
#include "gui/advice/verify_pane.h"
#include "gui/models/saving.h"
#include "gui/models/verifying.h"
#include "gui/models/visible_text.h"

namespace tapelens::gui {

trace::Status AdvicePage::save_plan(const QString& path) {
  if (!session_.has(Part::advice)) return failure(tr("The findings are still being worked out."));
  const Advised& advised = *session_.subject().advised;
  if (planned(advised, session_.ticked()) == 0) return failure(tr("No finding that a rewrite fixes is ticked."));
  const std::string text = plan_text(session_.document()->facts(), advised, session_.ticked());
  if (auto saved = save_text(path, {.name = "plan"}, {{session_.document()->facts().path}}, text); !saved) return saved;
  plan_path_ = path;
  show_ticks();
  return trace::Done{};
}

trace::Status AdvicePage::save_patch(const QString& path) {
  const QModelIndex selected = filter_.mapToSource(view_->currentIndex());
  if (!selected.isValid() || model_.finding(selected).fix.edits.empty())
    return failure(tr("The finding that is selected has no patch."));
  return save_text(path, check::patch_kind(), {{session_.document()->facts().path}},
                   check::unified_diff(model_.finding(selected).fix.edits));
}

void AdvicePage::copy(const QString& text, const QString& what) {
  QApplication::clipboard()->setText(text);
  remark_->setText(tr("Copied: %1").arg(what));
}

void AdvicePage::open_verify(const QString& path) { verify_->open(path); }

QString AdvicePage::command() const {
  const QString& recorded = session_.document()->facts().command;
  if (!plan_path_.isEmpty()) return verify_command(plan_option(plan_path_), recorded);
  const QString applying = model_.applying(session_.ticked());
  return applying.isEmpty() ? QString() : verify_command(applying, recorded);
}

QString AdvicePage::beside_recording(const QString& ending) const { return session_.document()->facts().path + ending; }

void AdvicePage::ask_plan() {
  const QFileInfo recording(session_.document()->facts().path);
  const QString path = QFileDialog::getSaveFileName(
      this, tr("Save plan"), recording.absolutePath() + '/' + recording.completeBaseName() + ".plan.json",
      tr("Plans (*.json)"));
  if (path.isEmpty()) return;
  if (const auto saved = save_plan(path); !saved) remark_->setText(sentence(saved.error()));
}

void AdvicePage::ask_patch() {
  const QFileInfo recording(session_.document()->facts().path);
  const QString path = QFileDialog::getSaveFileName(this, tr("Save patch"), recording.absolutePath() + "/fix.patch",
                                                    tr("Patches (*.patch *.diff)"));
  if (path.isEmpty()) return;
  const auto saved = save_patch(path);
  remark_->setText(saved ? tr("Saved; from the repository's root: git apply %1").arg(path) : sentence(saved.error()));
}

void AdvicePage::ask_verify() {
  const QString path = QFileDialog::getOpenFileName(this, tr("Open verify result"), beside_recording(".verify.json"),
                                                    tr("Verify results (*.json)"));
  if (!path.isEmpty()) open_verify(path);
}

void AdvicePage::look_for_verify() {
  const QString path = beside_recording(".verify.json");
  if (QFileInfo(path).isFile()) open_verify(path);
}

}  // namespace tapelens::gui
