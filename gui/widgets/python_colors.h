// Highlights keywords, strings, numbers and comments of Python.
#pragma once

#include <QSyntaxHighlighter>

namespace tapelens::gui {

class PythonColors : public QSyntaxHighlighter {
 public:
  using QSyntaxHighlighter::QSyntaxHighlighter;

 protected:
  void highlightBlock(const QString& text) override;
};

}  // namespace tapelens::gui
