// Names, paths and messages of a recording or a plan are untrusted text. These functions, one for each format, make
// that text readable and inert.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapelens::text {

// Escapes invisible characters, and characters that control a terminal or change the direction of text: "\x1b",
// "\u202e". A line end becomes "\n". All other characters, also tabs, stay unchanged.
std::string printable(std::string_view text);

// Like printable(), but keeps line ends.
std::string printable_lines(std::string_view text);

// Escapes such characters in the strings of a JSON library's output: "\u009b".
std::string printable_json(std::string_view document);

// JSON as the text of a <script>. The result cannot end the element or begin a comment.
std::string script_json(std::string_view document);

// Markdown outside of code: no links, images, mentions, formulas, HTML or ends of a table's cell.
std::string cell(std::string_view text);

// XML, as the text of an element or an attribute. XML 1.0 cannot contain the characters that printable() replaces.
std::string xml(std::string_view text);

// HTML, as the text of an element. GitHub makes no link or mention of it.
std::string html(std::string_view text);

// Markdown code. A backtick would end the code; a pipe would end a table's cell even inside code.
std::string code(std::string_view text);

// A block of Markdown code whose fence does not occur in the text.
std::string code_block(std::string_view language, std::string_view text);

// One word of a command, quoted for a POSIX shell.
std::string shell_quote(std::string_view word);
std::string shell_quote(const std::vector<std::string>& words);

}  // namespace tapelens::text
