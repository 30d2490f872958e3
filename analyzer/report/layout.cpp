#include "analyzer/report/layout.h"

#include "analyzer/report/format.h"

namespace tapelens::report {

Paint paint_of(peak::HolderKind kind) {
  switch (kind) {
    case peak::HolderKind::save:
      return Paint::cyan;
    case peak::HolderKind::parameter:
      return Paint::blue;
    case peak::HolderKind::gradient:
      return Paint::magenta;
    case peak::HolderKind::optimizer_state:
      return Paint::yellow;
    case peak::HolderKind::buffer:
      return Paint::blue;
    case peak::HolderKind::recomputed:
      return Paint::cyan;
    case peak::HolderKind::op:
      return Paint::green;
    case peak::HolderKind::program:
      break;
  }
  return Paint::red;
}

const char* label(peak::HolderKind kind) {
  switch (kind) {
    case peak::HolderKind::save:
      return "saved for backward";
    case peak::HolderKind::parameter:
      return "parameters";
    case peak::HolderKind::gradient:
      return "gradients";
    case peak::HolderKind::optimizer_state:
      return "optimizer state";
    case peak::HolderKind::buffer:
      return "buffers";
    case peak::HolderKind::recomputed:
      return "recomputed in backward";
    case peak::HolderKind::op:
      return "running operators";
    case peak::HolderKind::program:
      break;
  }
  return "the program itself";
}

std::string Page::paint(Paint paint, std::string_view text) const {
  if (!style_.color || paint == Paint::plain || text.empty()) return std::string(text);
  const char* code = "0";
  switch (paint) {
    case Paint::plain:
      break;
    case Paint::bold:
      code = "1";
      break;
    case Paint::dim:
      code = "2";
      break;
    case Paint::red:
      code = "31";
      break;
    case Paint::green:
      code = "32";
      break;
    case Paint::yellow:
      code = "33";
      break;
    case Paint::blue:
      code = "34";
      break;
    case Paint::magenta:
      code = "35";
      break;
    case Paint::cyan:
      code = "36";
      break;
  }
  return std::string("\033[") + code + "m" + std::string(text) + "\033[0m";
}

void Page::heading(std::string_view title, std::string_view remark) {
  const bool fits = columns(title) + 2 + columns(remark) <= width();
  out_ += "\n" + paint(Paint::bold, title);
  if (!remark.empty() && fits) out_ += "  " + paint(Paint::dim, remark);
  out_ += "\n";
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

}  // namespace tapelens::report
