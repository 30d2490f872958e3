// A page of text for a terminal: headings, aligned columns, color where it is wanted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tapelens::text {

enum class Paint : uint8_t { plain, bold, dim, red, green, yellow, blue, magenta, cyan };

// Properties of the terminal. Plain data, so that tests can use any terminal.
struct Style {
  unsigned width = 100;  // at least 60
  bool color = false;
  size_t rows = 10;  // rows of groups and of allocations
};

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
  // Plain text, wrapped at spaces to the width. `first` precedes it and sets the indentation of the following lines.
  void paragraph(std::string_view first, std::string_view text, Paint paint = Paint::plain);
  std::string take() { return std::move(out_); }

 private:
  Style style_;
  std::string out_;
};

}  // namespace tapelens::text
