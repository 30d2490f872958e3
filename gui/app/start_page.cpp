#include "gui/app/start_page.h"

#include <QDir>
#include <QFileInfo>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/widgets/theme.h"

namespace tapelens::gui {

StartPage::StartPage(QWidget* parent) : QWidget(parent) {
  auto* title = new QLabel(tr("What held the peak?"), this);
  title->setFont(title_font());
  auto* text = new QLabel(tr("Open a recording, or drop one here."), this);
  auto* open = new QPushButton(tr("Open a recording …"), this);
  open->setDefault(true);
  connect(open, &QPushButton::clicked, this, &StartPage::open_wanted);
  auto* how = new QLabel(tr("To make one:"), this);
  auto* command = new QLabel("tapelens record -- python train.py", this);
  command->setFont(mono_font());
  command->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  recent_ = new QVBoxLayout;
  recent_->setSpacing(2);
  none_ = new QLabel(tr("Recent recordings"), this);

  auto* column = new QVBoxLayout;
  column->setSpacing(kGap);
  column->addWidget(title);
  column->addWidget(text);
  column->addSpacing(kGap);
  column->addWidget(open, 0, Qt::AlignLeft);
  column->addSpacing(2 * kMargin);
  column->addWidget(none_);
  column->addLayout(recent_);
  column->addSpacing(2 * kMargin);
  column->addWidget(how);
  column->addWidget(command);
  auto* across = new QHBoxLayout(this);
  across->addStretch(1);
  auto* middle = new QVBoxLayout;
  middle->addStretch(2);
  middle->addLayout(column);
  middle->addStretch(3);
  across->addLayout(middle);
  across->addStretch(1);
  setFocusProxy(open);
}

void StartPage::show_recent(const QStringList& paths) {
  while (QLayoutItem* item = recent_->takeAt(0)) {
    delete item->widget();
    delete item;
  }
  none_->setVisible(!paths.isEmpty());
  for (const QString& path : paths) {
    const QFileInfo file(path);
    auto* button = new QPushButton(file.fileName(), this);
    button->setFlat(true);
    button->setStyleSheet("text-align: left; border: 0; padding: 3px 0; color: " + theme().accent.name());
    button->setToolTip(QDir::toNativeSeparators(path));
    button->setCursor(Qt::PointingHandCursor);
    connect(button, &QPushButton::clicked, this, [this, path] { Q_EMIT file_wanted(path); });
    recent_->addWidget(button, 0, Qt::AlignLeft);
  }
}

}  // namespace tapelens::gui
