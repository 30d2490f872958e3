#include "analyzer/text/layout.h"

#include "analyzer/text/escape.h"
#include "analyzer/text/format.h"

namespace tapelens::text {

namespace {

// UTF-8 text never contains these bytes.
constexpr char kPaint = '\xfe', kPlain = '\xff';
constexpr std::string_view kMarks = "\xfe\xff";

const char* sequence_of(Paint paint) {
  switch (paint) {
    case Paint::plain:
      break;
    case Paint::bold:
      return "\033[1m";
    case Paint::dim:
      return "\033[2m";
    case Paint::red:
      return "\033[31m";
    case Paint::green:
      return "\033[32m";
    case Paint::yellow:
      return "\033[33m";
    case Paint::blue:
      return "\033[34m";
    case Paint::magenta:
      return "\033[35m";
    case Paint::cyan:
      return "\033[36m";
  }
  return "\033[0m";
}

}  // namespace

std::string Page::paint(Paint paint, std::string_view text) const {
  if (!style_.color || paint == Paint::plain || text.empty()) return std::string(text);
  return std::string{kPaint, static_cast<char>(paint)} + std::string(text) + kPlain;
}

void Page::line(std::string_view text) {
  while (style_.color && !text.empty()) {
    const size_t mark = text.find_first_of(kMarks);
    if (mark == std::string_view::npos) break;
    out_ += printable(text.substr(0, mark));
    const bool is_paint = text[mark] == kPaint && mark + 1 < text.size();
    out_ += sequence_of(is_paint ? Paint{static_cast<uint8_t>(text[mark + 1])} : Paint::plain);
    text.remove_prefix(mark + (is_paint ? 2 : 1));
  }
  out_ += printable(text) + "\n";
}

void Page::heading(std::string_view title, std::string_view remark) {
  const bool fits = columns(title) + 2 + columns(remark) <= width();
  line("");
  line(paint(Paint::bold, title) + (!remark.empty() && fits ? "  " + paint(Paint::dim, remark) : ""));
  if (!remark.empty() && !fits) paragraph("  ", remark, Paint::dim);
}

void Page::paragraph(std::string_view first, std::string_view text, Paint paint_with) {
  std::string row(first);
  bool fresh = true;  // no word in the row yet
  while (!text.empty()) {
    const size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    if (!fresh && columns(row) + 1 + columns(word) > width()) {
      line(paint(paint_with, row));
      row.assign(columns(first), ' ');
      fresh = true;
    }
    if (!fresh) row += ' ';
    row += word;
    fresh = false;
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
  }
  line(paint(paint_with, row));
}

}  // namespace tapelens::text
