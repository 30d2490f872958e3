// A row of buttons of which one is down: what of several a page shows.
#pragma once

#include <QStringList>
#include <QWidget>

class QButtonGroup;
class QHBoxLayout;

namespace tapelens::gui {

class ChoiceBar : public QWidget {
  Q_OBJECT
 public:
  // `name`: what is chosen, for who does not see it.
  explicit ChoiceBar(const QString& name, QWidget* parent = nullptr);

  // The first is chosen then; chosen() is not told.
  void set_choices(const QStringList& choices);
  int count() const;
  QString text(int at) const;
  void set_text(int at, const QString& text);
  int current() const;  // -1: there are none
  void set_current(int at);

 Q_SIGNALS:
  void chosen(int at);

 private:
  QButtonGroup* buttons_;
  QHBoxLayout* row_;
};

}  // namespace tapelens::gui
