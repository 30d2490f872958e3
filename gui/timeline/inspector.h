// Beside the timeline: the answers for the selected range, or the selected allocation with its saves and uses. Times
// are links.
#pragma once

#include <QTextBrowser>

#include "gui/models/session.h"

namespace tapelens::gui {

class Inspector final : public QTextBrowser {
  Q_OBJECT
 public:
  explicit Inspector(Session& session, QWidget* parent = nullptr);

 Q_SIGNALS:
  void wanted(tapelens::model::Time time);  // the user clicked a time

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void refresh();

  Session& session_;
};

}  // namespace tapelens::gui
