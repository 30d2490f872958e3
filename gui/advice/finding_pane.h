// Describes one finding: the cause, the evidence, the fix, and the source.
#pragma once

#include <QScrollArea>
#include <QStringList>

#include "analyzer/advise/advice.h"
#include "analyzer/model/model.h"

class QLabel;
class QBoxLayout;
class QVBoxLayout;
class QWidget;

namespace tapelens::gui {

class DiffView;
class Document;
class SourcePane;

// The texts of the finding's entry; empty if they add nothing to the finding.
struct EntryWords {
  QString title;
  QString command;  // fixes it without a change of the program
};

class FindingPane : public QScrollArea {
  Q_OBJECT
 public:
  explicit FindingPane(QWidget* parent = nullptr);
  // Null shows a hint to select a finding. `document`: the finding's recording.
  void show_finding(const advise::Finding* finding, const EntryWords& entry, const Document* document);

 Q_SIGNALS:
  void copied(const QString& text, const QString& what);
  void saveWanted();  // saves the patch
  void evidenceClicked(tapelens::model::Interval when);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  QLabel* add_text(QBoxLayout& column);
  QLabel* add_heading(QVBoxLayout& column, const QString& text);
  void show_evidence(const advise::Finding& finding);
  void paint();

  QWidget* content_;
  QLabel *empty_, *entry_, *title_, *facts_, *message_;
  QLabel *fix_heading_, *fix_, *guarantee_;
  QWidget *command_row_, *patch_row_;
  QLabel* command_;
  DiffView* patch_;
  QString patch_text_;
  QLabel *evidence_heading_, *evidence_;
  QLabel *notes_heading_, *notes_;
  QLabel* source_heading_;
  SourcePane* source_;
  QString evidence_html_;
  check::Severity severity_{};
  QString severity_text_, facts_text_;
  std::vector<model::Interval> moments_;  // times of the evidence
};

}  // namespace tapelens::gui
