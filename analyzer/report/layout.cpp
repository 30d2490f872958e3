#include "analyzer/report/layout.h"

#include "analyzer/report/escape.h"
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
    case peak::HolderKind::packed:
    case peak::HolderKind::checkpointing:
    case peak::HolderKind::context:
    case peak::HolderKind::recomputed:
      return Paint::cyan;
    case peak::HolderKind::communication:
      return Paint::yellow;
    case peak::HolderKind::op:
    case peak::HolderKind::allocator:
      return Paint::green;
    case peak::HolderKind::unknown:
      return Paint::blue;
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
    case peak::HolderKind::packed:
      return "packed by a hook";
    case peak::HolderKind::checkpointing:
      return "kept by checkpointing";
    case peak::HolderKind::context:
      return "kept on ctx";
    case peak::HolderKind::recomputed:
      return "recomputed in backward";
    case peak::HolderKind::communication:
      return "communication";
    case peak::HolderKind::op:
      return "operator temporaries";
    case peak::HolderKind::allocator:
      return "freed, waits for a stream";
    case peak::HolderKind::unknown:
      return "holder not known";
    case peak::HolderKind::program:
      break;
  }
  return "other live tensors";
}

std::string group_text(const std::string& key) {
  for (size_t i = 0; i < peak::kHolderKinds; ++i) {
    const auto kind = static_cast<peak::HolderKind>(i);
    if (key == peak::category_name(kind)) return label(kind);
  }
  return key;
}

namespace {

// No text has these bytes: they are in no UTF-8.
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

}  // namespace tapelens::report
