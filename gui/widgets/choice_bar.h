// A row of buttons, one of which is down: selects the content of a page.
#pragma once

#include <QStringList>
#include <QWidget>

class QButtonGroup;
class QHBoxLayout;

namespace tapelens::gui {

class ChoiceBar : public QWidget {
  Q_OBJECT
 public:
  // `name`: the accessible name of the choice.
  explicit ChoiceBar(const QString& name, QWidget* parent = nullptr);

  // Selects the first choice, without emitting chosen().
  void set_choices(const QStringList& choices);
  int count() const;
  QString text(int at) const;
  void set_text(int at, const QString& text);
  int current() const;  // -1: no choices
  void set_current(int at);

 Q_SIGNALS:
  void chosen(int at);

 private:
  QButtonGroup* buttons_;
  QHBoxLayout* row_;
};

}  // namespace tapelens::gui
