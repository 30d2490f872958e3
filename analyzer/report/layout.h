// A page of text for a terminal: headings, aligned columns, color where it is wanted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/report/report.h"

namespace tapelens::report {

enum class Paint : uint8_t { plain, bold, dim, red, green, yellow, blue, magenta, cyan };

// The color of a category's bars, the same in every view.
Paint paint_of(peak::HolderKind kind);

// The name of a category in text: "saved for backward".
const char* label(peak::HolderKind kind);

// A group's key, as text calls it where the group is a category.
std::string group_text(const std::string& key);

class Page {
 public:
  explicit Page(const Style& style) : style_(style) {}

  unsigned width() const { return style_.width; }
  size_t rows() const { return style_.rows; }
  // Marks that line() replaces by the terminal's sequences. Text of a recording cannot contain such marks.
  std::string paint(Paint paint, std::string_view text) const;

  // After an empty line. A remark that does not fit beside the title comes below it.
  void heading(std::string_view title, std::string_view remark = {});
  void line(std::string_view text);
  // Plain text, broken at spaces to the width. `first` is put before it; lines after the first are indented as wide.
  void paragraph(std::string_view first, std::string_view text, Paint paint = Paint::plain);
  std::string take() { return std::move(out_); }

 private:
  Style style_;
  std::string out_;
};

}  // namespace tapelens::report
