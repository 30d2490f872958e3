// Prints the Markdown of our pages in a terminal, without its marks: headings, paragraphs, lists, tables and code.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/text/layout.h"

namespace tapelens::cli {

struct MarkdownBlock {
  enum class Kind : uint8_t { heading, paragraph, item, code, table };
  Kind kind{};
  std::string text;                            // joined lines; of code, its lines
  std::vector<std::vector<std::string>> rows;  // rows of a table, the titles first
};
// Leaves out comments.
std::vector<MarkdownBlock> markdown_blocks(std::string_view markdown);

// Inline Markdown without its marks. A link becomes its text, and its address if that is on the web.
std::string plain_text(std::string_view text);
// Wraps text to the width of the page. Code and rows of tables are indented; code is not wrapped, so that it can be
// copied.
void show_markdown(text::Page& page, std::string_view markdown);

// ---- the pages of docs/ that describe commands, as Markdown: `tapelens man` has them, so that they come with every
// package

// `page`: a name of Command::page, "record". Empty for an unknown page.
std::string_view page_text(std::string_view page);

}  // namespace tapelens::cli
