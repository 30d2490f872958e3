#include "gui/advice/finding_pane.h"

#include <QEvent>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "analyzer/report/findings_text.h"
#include "analyzer/text/format.h"
#include "gui/models/document.h"
#include "gui/models/findings_tree.h"
#include "gui/models/visible_text.h"
#include "gui/widgets/source_pane.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

constexpr int kPatchLines = 18;
constexpr int kSourceLines = 16;

}  // namespace

FindingPane::FindingPane(QWidget* parent) : QScrollArea(parent), content_(new QWidget) {
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setAccessibleName(tr("Finding"));
  auto* column = new QVBoxLayout(content_);
  column->setContentsMargins(kMargin, 0, kMargin, kMargin);
  column->setSpacing(kGap);
  empty_ = add_text(*column);
  empty_->setText(tr("Select a finding to see what it is about, what proves it and how it is fixed."));
  empty_->setAlignment(Qt::AlignCenter);
  entry_ = add_text(*column);
  title_ = add_text(*column);
  facts_ = add_text(*column);
  facts_->setTextFormat(Qt::RichText);
  message_ = add_text(*column);
  fix_heading_ = add_heading(*column, tr("How to fix it"));
  fix_ = add_text(*column);
  guarantee_ = add_text(*column);
  const auto add_row = [column] {
    auto* row = new QWidget;
    auto* inside = new QHBoxLayout(row);
    inside->setContentsMargins(0, 0, 0, 0);
    inside->setSpacing(kGap);
    column->addWidget(row);
    return row;
  };
  const auto add_button = [](QWidget* row, const QString& text) {
    auto* button = new QPushButton(text);
    row->layout()->addWidget(button);
    return button;
  };
  command_row_ = add_row();
  command_ = add_text(static_cast<QHBoxLayout&>(*command_row_->layout()));
  static_cast<QHBoxLayout*>(command_row_->layout())->setStretch(0, 1);
  auto* copy_command = add_button(command_row_, tr("Copy &run"));
  copy_command->setToolTip(tr("The command that runs the program with it fixed"));
  connect(copy_command, &QPushButton::clicked, this, [this] { Q_EMIT copied(command_->text(), command_->text()); });
  patch_ = new DiffView;
  column->addWidget(patch_);
  patch_row_ = add_row();
  auto* copy_patch = add_button(patch_row_, tr("Copy pa&tch"));
  connect(copy_patch, &QPushButton::clicked, this,
          [this] { Q_EMIT copied(patch_text_, tr("the patch, for git apply")); });
  auto* save_patch = add_button(patch_row_, tr("&Save patch\u2026"));
  connect(save_patch, &QPushButton::clicked, this, &FindingPane::saveWanted);
  static_cast<QHBoxLayout*>(patch_row_->layout())->addStretch(1);
  evidence_heading_ = add_heading(*column, tr("Evidence"));
  evidence_ = add_text(*column);
  evidence_->setTextFormat(Qt::RichText);
  evidence_->setTextInteractionFlags(Qt::TextBrowserInteraction);
  evidence_->setToolTip(tr("A click shows the moment in the timeline"));
  connect(evidence_, &QLabel::linkActivated, this, [this](const QString& link) {
    const size_t at = link.toULongLong();
    if (at < moments_.size()) Q_EMIT evidenceClicked(moments_[at]);
  });
  notes_heading_ = add_heading(*column, tr("Notes"));
  notes_ = add_text(*column);
  source_heading_ = add_heading(*column, tr("Where"));
  source_ = new SourcePane;
  column->addWidget(source_);
  column->addStretch();
  setWidget(content_);
  show_finding(nullptr, {}, {});
}

QLabel* FindingPane::add_text(QBoxLayout& column) {
  auto* label = new QLabel;
  label->setWordWrap(true);
  label->setTextFormat(Qt::PlainText);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  label->setFocusPolicy(Qt::ClickFocus);
  // Cuts a long name, so that it does not push the text beside it out of sight.
  QSizePolicy policy = label->sizePolicy();
  policy.setHorizontalPolicy(QSizePolicy::Ignored);
  label->setSizePolicy(policy);
  column.addWidget(label);
  return label;
}

QLabel* FindingPane::add_heading(QVBoxLayout& column, const QString& text) {
  column.addSpacing(kGap / 2);
  auto* label = new QLabel(text);
  column.addWidget(label);
  return label;
}

void FindingPane::show_finding(const advise::Finding* finding, const EntryWords& entry, const Document* document) {
  empty_->setVisible(finding == nullptr);
  for (QWidget* widget : std::initializer_list<QWidget*>{
           entry_, title_, facts_, message_, fix_heading_, fix_, guarantee_, command_row_, patch_, patch_row_,
           evidence_heading_, evidence_, notes_heading_, notes_, source_heading_, source_}) {
    widget->setVisible(finding != nullptr);
  }
  if (finding == nullptr) {
    paint();
    return;
  }
  const advise::Finding& f = *finding;
  entry_->setText(entry.title);
  entry_->setVisible(!entry.title.isEmpty());
  title_->setText(visible(f.title));
  severity_ = f.severity;
  severity_text_ = check::severity_name(f.severity);
  const std::string place = report::place_text(f);
  facts_text_ = QString("%1 %2; %3")
                    .arg(visible(text::bytes_text(f.bytes)), visible(report::times_text(f)),
                         visible(report::effect_text(f)).replace("->", "\u2192"));
  if (!place.empty()) facts_text_ += '\n' + visible(place);
  facts_text_ += '\n' + tr("Check: ") + visible(f.check) +
                 (f.is_alternative ? ", one of several ways: it does not count among all" : "");
  message_->setText(
      visible(f.message) +
      (f.is_proved ? "" : tr(" The recording cannot prove this: have a look before you change anything.")));
  fix_->setText(visible(f.fix.text));
  guarantee_->setText(guarantee_text(f));
  command_->setText(entry.command);
  command_row_->setVisible(!entry.command.isEmpty());
  patch_->setVisible(!f.fix.edits.empty());
  patch_row_->setVisible(!f.fix.edits.empty());
  // The patch stays as git needs it; the shown text makes hidden characters visible.
  patch_text_ = QString::fromStdString(check::unified_diff(f.fix.edits));
  patch_->show_diff(visible_lines(patch_text_.toStdString()));
  patch_->fit(kPatchLines);
  show_evidence(f);
  QString notes;
  for (const std::string& note : f.notes) notes += (notes.isEmpty() ? "" : "\n") + visible(note);
  notes_->setText(notes);
  notes_->setVisible(!notes.isEmpty());
  notes_heading_->setVisible(!notes.isEmpty());
  if (document != nullptr) source_->set_recording(document->facts().path, document->text());
  source_->show_stack(f.stack, tr("The recording has no stack of it."));
  source_->setMinimumHeight(kSourceLines * QFontMetrics(mono_font()).lineSpacing());
  paint();
  ensureVisible(0, 0);
}

void FindingPane::show_evidence(const advise::Finding& f) {
  moments_.clear();
  evidence_html_.clear();
  for (size_t i = 0; i < f.evidence.size(); ++i) {
    moments_.push_back({f.evidence[i].begin, f.evidence[i].end});
    evidence_html_ += QString("<p style='margin: 0 0 4px 0'><a href='%1'>%2</a></p>")
                          .arg(i)
                          .arg(visible(report::evidence_text(f.evidence[i])).toHtmlEscaped().replace("  ", "&nbsp; "));
  }
  if (f.evidence_left_out > 0) {
    evidence_html_ += "<p style='margin: 0'>" + tr("and ") +
                      visible(text::plural(f.evidence_left_out, "more that looks", "more that look")) +
                      tr(" different") + "</p>";
  }
  evidence_->setVisible(!evidence_html_.isEmpty());
  evidence_heading_->setVisible(!evidence_html_.isEmpty());
}

void FindingPane::paint() {
  title_->setFont(title_font());
  QFont bold = font();
  bold.setWeight(QFont::DemiBold);
  for (QLabel* heading : {fix_heading_, evidence_heading_, notes_heading_, source_heading_}) heading->setFont(bold);
  const auto color = [](QLabel* label, const QColor& with) {
    QPalette palette = label->palette();
    palette.setColor(QPalette::WindowText, with);
    label->setPalette(palette);
  };
  command_->setFont(mono_font());
  for (QLabel* label : {empty_, entry_, guarantee_, facts_}) color(label, theme().faint);
  facts_->setText(
      QString("<b style='color:%1'>%2</b> &nbsp;%3")
          .arg(theme().severity(severity_).name(), severity_text_, facts_text_.toHtmlEscaped().replace('\n', "<br>")));
  // Links get their color from the palette only when the text is set.
  evidence_->setText(
      QString(evidence_html_)
          .replace("<a ", QString("<a style='color:%1; text-decoration: none' ").arg(theme().accent.name())));
}

void FindingPane::changeEvent(QEvent* event) {
  QScrollArea::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && source_ != nullptr) paint();
}

}  // namespace tapelens::gui
