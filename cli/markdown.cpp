#include "cli/markdown.h"

#include <algorithm>
#include <utility>

#include "analyzer/text/format.h"

namespace tapelens::cli {
namespace {

using BlockKind = MarkdownBlock::Kind;
using text::Page;
using text::Paint;

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// The cells of "| a | b \| c |".
std::vector<std::string> cells_of(std::string_view line) {
  line = trimmed(line);
  line.remove_prefix(1);
  std::vector<std::string> cells(1);
  for (size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '\\' && at + 1 < line.size() && line[at + 1] == '|') {
      cells.back() += line[++at];
    } else if (line[at] == '|') {
      cells.emplace_back();
    } else {
      cells.back() += line[at];
    }
  }
  if (trimmed(cells.back()).empty()) cells.pop_back();
  for (std::string& cell : cells) cell = trimmed(cell);
  return cells;
}

// "| --- | :-- |", below the titles of a table.
bool is_rule(std::string_view line) {
  return line.find('-') != std::string_view::npos && line.find_first_not_of("|-: ") == std::string_view::npos;
}

class Parser {
 public:
  void add(std::string_view line) {
    if (in_comment_) {
      in_comment_ = line.find("-->") == std::string_view::npos;
    } else if (line.starts_with("```")) {
      if (!in_code_) begin(BlockKind::code);
      in_code_ = !in_code_;
      is_open_ = in_code_;
    } else if (in_code_) {
      blocks_.back().text += std::string(line) + "\n";
    } else if (line.starts_with("<!--")) {
      in_comment_ = line.find("-->") == std::string_view::npos;
      is_open_ = false;
    } else if (trimmed(line).empty() || line.starts_with("![")) {  // terminals show no pictures
      is_open_ = false;
    } else if (line.starts_with("#")) {
      begin(BlockKind::heading).text = trimmed(line.substr(line.find_first_not_of('#')));
      is_open_ = false;
    } else if (line.starts_with("|")) {
      add_row(line);
    } else if (line.starts_with("- ")) {
      begin(BlockKind::item).text = trimmed(line.substr(2));
    } else if (line.starts_with("    ") && !is_open()) {
      begin(BlockKind::code).text = std::string(line.substr(4)) + "\n";
    } else if (is_open(BlockKind::code)) {
      blocks_.back().text += std::string(line.substr(std::min<size_t>(4, line.size()))) + "\n";
    } else if (is_open(BlockKind::paragraph) || is_open(BlockKind::item)) {
      blocks_.back().text += " " + std::string(trimmed(line));
    } else {
      begin(BlockKind::paragraph).text = trimmed(line);
    }
  }
  std::vector<MarkdownBlock> take() { return std::move(blocks_); }

 private:
  bool is_open() const { return is_open_ && !blocks_.empty(); }
  bool is_open(BlockKind kind) const { return is_open() && blocks_.back().kind == kind; }
  MarkdownBlock& begin(BlockKind kind) {
    is_open_ = true;
    return blocks_.emplace_back(MarkdownBlock{kind, {}, {}});
  }
  void add_row(std::string_view line) {
    if (!is_open(BlockKind::table)) begin(BlockKind::table);
    if (!is_rule(line)) blocks_.back().rows.push_back(cells_of(line));
  }

  std::vector<MarkdownBlock> blocks_;
  bool is_open_ = false;  // whether the next line may belong to the last block
  bool in_code_ = false, in_comment_ = false;
};

// A word of wrapped text, and its columns without the marks of its color.
struct Word {
  std::string text;
  unsigned columns = 0;
};

// The words of inline Markdown: **bold**, *emphasized*, `code`, [text](address).
class Inline {
 public:
  Inline(const Page& page, std::string_view text, Paint paint) : page_(page), text_(text), paint_(paint) {}

  std::vector<Word> words() {
    while (at_ < text_.size()) step();
    end_word();
    return std::move(words_);
  }

 private:
  void step() {
    if (at_ == link_end_) return end_link();
    if (text_[at_] == '`') {
      if (const size_t end = text_.find('`', at_ + 1); end != std::string_view::npos) {
        add(text_.substr(at_ + 1, end - at_ - 1), Paint::cyan);
        at_ = end + 1;
        return;
      }
    }
    if (text_.substr(at_).starts_with("**") && is_mark("**", is_bold_)) return toggle("**", is_bold_);
    if (text_[at_] == '*' && is_mark("*", is_emphasized_)) return toggle("*", is_emphasized_);
    if (text_[at_] == '[' && begins_link()) {
      ++at_;
      return;
    }
    const size_t end = std::min({text_.find_first_of("`*[", at_ + 1), link_end_, text_.size()});
    add(text_.substr(at_, end - at_), is_bold_ ? Paint::bold : paint_);
    at_ = end;
  }

  // A mark begins a span only if a letter follows and the same mark ends it.
  bool is_mark(std::string_view mark, bool is_inside) const {
    const size_t next = at_ + mark.size();
    return is_inside || (next < text_.size() && text_[next] != ' ' && text_.find(mark, next) != std::string_view::npos);
  }
  void toggle(std::string_view mark, bool& is_inside) {
    is_inside = !is_inside;
    at_ += mark.size();
  }

  bool begins_link() {
    const size_t between = text_.find("](", at_);
    if (between == std::string_view::npos || text_.find(')', between) == std::string_view::npos) return false;
    link_end_ = between;
    return true;
  }
  // Only an address on the web helps in a terminal.
  void end_link() {
    const size_t end = text_.find(')', at_);
    const std::string_view address = text_.substr(at_ + 2, end - at_ - 2);
    if (address.starts_with("http")) add(" (" + std::string(address) + ")", paint_);
    at_ = end + 1;
    link_end_ = std::string_view::npos;
  }

  void add(std::string_view text, Paint paint) {
    while (true) {
      const std::string_view part = text.substr(0, text.find(' '));
      word_.text += page_.paint(paint, part);
      word_.columns += text::columns(part);
      if (part.size() == text.size()) return;
      end_word();
      text.remove_prefix(part.size() + 1);
    }
  }
  void end_word() {
    if (!word_.text.empty()) words_.push_back(std::exchange(word_, {}));
  }

  const Page& page_;
  const std::string_view text_;
  const Paint paint_;
  size_t at_ = 0, link_end_ = std::string_view::npos;
  bool is_bold_ = false, is_emphasized_ = false;
  Word word_;
  std::vector<Word> words_;
};

// Text in one line.
Word unwrapped(const Page& page, std::string_view text, Paint paint) {
  Word line;
  for (const Word& word : Inline(page, text, paint).words()) {
    if (line.columns > 0) line = {line.text + " ", line.columns + 1};
    line = {line.text + word.text, line.columns + word.columns};
  }
  return line;
}

// Text wrapped to the page behind `first`, which sets the indentation of the following lines.
void add_wrapped(Page& page, const Word& first, std::string_view text, Paint paint = Paint::plain) {
  Word row = first;
  bool is_fresh = true;
  for (const Word& word : Inline(page, text, paint).words()) {
    if (!is_fresh && row.columns + 1 + word.columns > page.width()) {
      page.line(row.text);
      row = {std::string(first.columns, ' '), first.columns};
      is_fresh = true;
    }
    if (!is_fresh) row = {row.text + " ", row.columns + 1};
    row = {row.text + word.text, row.columns + word.columns};
    is_fresh = false;
  }
  page.line(row.text);
}

void add_code(Page& page, std::string_view code) {
  while (!code.empty()) {
    const std::string_view line = code.substr(0, code.find('\n'));
    page.line(line.empty() ? "" : "    " + page.paint(Paint::cyan, line));
    code.remove_prefix(std::min(line.size() + 1, code.size()));
  }
}

// A table whose first columns are too wide: each cell is a line.
void add_stacked(Page& page, const std::vector<std::string>& row, Paint paint) {
  for (size_t i = 0; i < row.size(); ++i) add_wrapped(page, i == 0 ? Word{"  ", 2} : Word{"    ", 4}, row[i], paint);
}

void add_row(Page& page, const std::vector<std::string>& row, const std::vector<unsigned>& widths, Paint paint) {
  Word left{"  ", 2};
  for (size_t i = 0; i + 1 < row.size(); ++i) {
    const Word cell = unwrapped(page, row[i], paint);
    const unsigned blanks = widths[i] - cell.columns + 2;
    left = {left.text + cell.text + std::string(blanks, ' '), left.columns + widths[i] + 2};
  }
  if (row.back().empty()) {
    page.line(std::string_view(left.text).substr(0, left.text.find_last_not_of(' ') + 1));
  } else {
    add_wrapped(page, left, row.back(), paint);
  }
}

void add_table(Page& page, const std::vector<std::vector<std::string>>& rows) {
  std::vector<unsigned> widths;
  for (const std::vector<std::string>& row : rows) {
    if (widths.size() + 1 < row.size()) widths.resize(row.size() - 1);
    for (size_t i = 0; i + 1 < row.size(); ++i) {
      widths[i] = std::max(widths[i], unwrapped(page, row[i], Paint::plain).columns);
    }
  }
  unsigned left = 2;
  for (const unsigned width : widths) left += width + 2;
  for (const std::vector<std::string>& row : rows) {
    const Paint paint = &row == &rows.front() ? Paint::bold : Paint::plain;
    if (row.empty() || std::ranges::all_of(row, &std::string::empty)) continue;
    if (left > page.width() * 2 / 3) {
      add_stacked(page, row, paint);
    } else {
      add_row(page, row, widths, paint);
    }
  }
}

void add_block(Page& page, const MarkdownBlock& block) {
  switch (block.kind) {
    case BlockKind::heading:
      return add_wrapped(page, {}, block.text, Paint::bold);
    case BlockKind::paragraph:
      return add_wrapped(page, {}, block.text);
    case BlockKind::item:
      return add_wrapped(page, {"  - ", 4}, block.text);
    case BlockKind::code:
      return add_code(page, block.text);
    case BlockKind::table:
      return add_table(page, block.rows);
  }
}

}  // namespace

std::vector<MarkdownBlock> markdown_blocks(std::string_view markdown) {
  Parser parser;
  while (!markdown.empty()) {
    const std::string_view line = markdown.substr(0, markdown.find('\n'));
    parser.add(line);
    markdown.remove_prefix(std::min(line.size() + 1, markdown.size()));
  }
  return parser.take();
}

std::string plain_text(std::string_view text) {
  const Page page(text::Style{});  // without color
  return unwrapped(page, text, Paint::plain).text;
}

void show_markdown(Page& page, std::string_view markdown) {
  const std::vector<MarkdownBlock> blocks = markdown_blocks(markdown);
  for (size_t i = 0; i < blocks.size(); ++i) {
    const bool is_in_list = i > 0 && blocks[i].kind == BlockKind::item && blocks[i - 1].kind == BlockKind::item;
    if (i > 0 && !is_in_list) page.line("");
    add_block(page, blocks[i]);
  }
}

}  // namespace tapelens::cli
