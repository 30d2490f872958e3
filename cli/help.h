// The text of --help, from the declared commands and options. The manual pages share its parts.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tapelens::cli {

// An option or a positional in words.
struct OptionText {
  std::string names;  // "-o, --output FILE"
  std::string help;   // its description, with its default and the options that exclude it
};
OptionText option_text(const CLI::Option& option);
// The options, or the positionals, of a command that its help shows; --help and --version are the last.
std::vector<const CLI::Option*> shown_options(const CLI::App& app, bool is_positional);

// A line of the text below the options. A line that begins with two blanks is a row: examples, exit codes. Three blanks
// or more separate the two columns of a row. All others are paragraphs, which are wrapped.
struct FooterLine {
  bool is_row = false;
  std::string left, right;  // a paragraph has no `right`
};
std::vector<FooterLine> footer_lines(std::string_view footer);
// "More: tapelens man record", the last line of a command's help.
std::string more_text(const CLI::App& app);

// --help of a command, or of tapelens itself, in lines of at most `width` columns. Only an example may be wider: it is
// not wrapped, so that it can be copied.
std::string help_text(const CLI::App& app, unsigned width);

}  // namespace tapelens::cli
