#include "gui/widgets/choice_bar.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QToolButton>

namespace tapelens::gui {

ChoiceBar::ChoiceBar(const QString& name, QWidget* parent)
    : QWidget(parent), buttons_(new QButtonGroup(this)), row_(new QHBoxLayout(this)) {
  setAccessibleName(name);
  row_->setContentsMargins(0, 0, 0, 0);
  row_->setSpacing(4);
  row_->addStretch();
  connect(buttons_, &QButtonGroup::idToggled, this, [this](int at, bool on) {
    if (on) Q_EMIT chosen(at);
  });
}

void ChoiceBar::set_choices(const QStringList& choices) {
  for (QAbstractButton* button : buttons_->buttons()) delete button;
  for (int at = 0; at < choices.size(); ++at) {
    auto* button = new QToolButton(this);
    button->setText(choices[at]);
    button->setCheckable(true);
    button->setChecked(at == 0);
    button->setFocusPolicy(Qt::StrongFocus);
    buttons_->addButton(button, at);
    row_->insertWidget(at, button);
  }
}

int ChoiceBar::count() const { return static_cast<int>(buttons_->buttons().size()); }
QString ChoiceBar::text(int at) const { return buttons_->button(at)->text(); }
void ChoiceBar::set_text(int at, const QString& text) { buttons_->button(at)->setText(text); }
int ChoiceBar::current() const { return buttons_->checkedId(); }
void ChoiceBar::set_current(int at) { buttons_->button(at)->setChecked(true); }

}  // namespace tapelens::gui
