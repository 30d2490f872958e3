// Names, paths and messages of a recording or a plan are somebody else's text: it comes out of here, one function for
// each format, so that it is read and acts upon nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapelens::report {

// Characters that a reader does not see, or that act upon a terminal or turn the order of what is beside them, are said
// by their numbers: "\x1b", "\u202e"; a line's end is "\n". All else, and tabs, stay as they are.
std::string printable(std::string_view text);

// The same line by line: the ends of lines stay.
std::string printable_lines(std::string_view text);

// What a JSON library wrote, with such characters in its strings as "\u009b".
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
