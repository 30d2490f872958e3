// Keywords, strings, numbers and comments of Python in colour.
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
