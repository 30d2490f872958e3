// Names, paths and messages of a recording or a plan are untrusted text. These functions, one for each format, make
// that text readable and inert.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapelens::report {

// Escapes invisible characters, and characters that control a terminal or change the direction of text: "\x1b",
// "\u202e". A line end becomes "\n". All other characters, also tabs, stay unchanged.
std::string printable(std::string_view text);

// The same line by line: the ends of lines stay.
std::string printable_lines(std::string_view text);

// Escapes such characters in the strings of a JSON library's output: "\u009b".
std::string printable_json(std::string_view document);

// JSON, as the text of a <script>: nothing in it ends the element, or begins a comment.
std::string script_json(std::string_view document);

// Markdown outside of code: no links, images, mentions, formulas, HTML or ends of a table's cell.
std::string cell(std::string_view text);

// HTML, as the text of an element.
std::string html(std::string_view text);

// Markdown, as code. A backtick would end it; a pipe would end a table's cell even in there.
std::string code(std::string_view text);

// A block of code that nothing in it ends.
std::string code_block(std::string_view language, std::string_view text);

// A word of a command, as a POSIX shell reads it back.
std::string shell_quote(std::string_view word);
std::string shell_quote(const std::vector<std::string>& words);

}  // namespace tapelens::report
