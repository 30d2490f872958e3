// tapelens man: prints the manual pages, made from the declared commands and options and the pages in docs/.
#include <unistd.h>

#include <memory>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/markdown.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output.h"

namespace tapelens::cli {
namespace {

// Escapes text for troff: no line starts with a request, and hyphens can be pasted.
std::string troff(std::string_view text) {
  std::string out;
  bool at_begin = true;
  for (const char c : text) {
    if (at_begin && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    at_begin = c == '\n';
  }
  return out;
}

std::string title_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? "tapelens" : "tapelens-" + app.get_name();
}

void add_options(std::string& page, const CLI::App& app) {
  page += ".SH OPTIONS\n";
  for (const bool is_positional : {true, false}) {
    for (const CLI::Option* option : shown_options(app, is_positional)) {
      const OptionText text = option_text(*option);
      page += ".TP\n.B " + troff(text.names) + "\n" + troff(text.help) + "\n";
    }
  }
}

void add_commands(std::string& page) {
  page += ".SH COMMANDS\n";
  for (const CommandGroup group : kCommandGroups) {
    page += ".SS " + troff(title_of(group)) + "\n";
    for (const Command& command : commands()) {
      if (command.group != group) continue;
      page += ".TP\n.BR tapelens\\-" + troff(command.name) + " (1)\n" + troff(command.summary) + "\n";
    }
  }
}

// A row of the help's footer: an example, or an exit code.
void add_row(std::string& page, const FooterLine& row) {
  if (row.right.empty()) {
    page += ".nf\n" + troff(row.left) + "\n.fi\n";
  } else {
    page += ".TP\n.B " + troff(row.left) + "\n" + troff(row.right) + "\n";
  }
}

void add_notes(std::string& page, const std::string& footer) {
  if (footer.empty()) return;
  page += ".SH NOTES\n";
  for (const FooterLine& line : footer_lines(footer)) {
    if (line.is_row) {
      add_row(page, line);
    } else {
      page += line.left.empty() ? ".PP\n" : troff(line.left) + "\n";
    }
  }
}

std::string troff_words(std::string_view text) { return troff(plain_text(text)); }

// The titles of a table are left out: each row is an item, and its first cell the name.
void add_table(std::string& page, const MarkdownBlock& table) {
  for (size_t row = 1; row < table.rows.size(); ++row) {
    const std::vector<std::string>& cells = table.rows[row];
    page += ".TP\n.B " + troff_words(cells.front()) + "\n";
    for (size_t cell = 1; cell < cells.size(); ++cell) page += troff_words(cells[cell]) + "\n";
  }
}

void add_block(std::string& page, const MarkdownBlock& block) {
  switch (block.kind) {
    case MarkdownBlock::Kind::heading:
      page += ".SS " + troff_words(block.text) + "\n";
      break;
    case MarkdownBlock::Kind::paragraph:
      page += ".PP\n" + troff_words(block.text) + "\n";
      break;
    case MarkdownBlock::Kind::item:
      page += ".IP \\(bu 2\n" + troff_words(block.text) + "\n";
      break;
    case MarkdownBlock::Kind::code:
      page += ".PP\n.nf\n" + troff(block.text) + ".fi\n";
      break;
    case MarkdownBlock::Kind::table:
      add_table(page, block);
      break;
  }
}

// The page of a command in docs/, without its title.
void add_description(std::string& page, const CLI::App& app) {
  page += ".SH DESCRIPTION\n";
  const std::vector<MarkdownBlock> blocks = markdown_blocks(page_text(find_command(app.get_name())->page));
  for (size_t i = 1; i < blocks.size(); ++i) add_block(page, blocks[i]);
}

std::string page_of(const CLI::App& app) {
  std::string page = ".TH " + troff(title_of(app)) + " 1 \"\" \"tapelens " TAPELENS_VERSION "\" \"Tapelens\"\n";
  const bool is_whole = app.get_parent() == nullptr;
  page += ".SH NAME\n" + troff(title_of(app)) + " \\- " + troff(app.get_description()) + "\n";
  page += ".SH SYNOPSIS\n";
  for (const std::string& usage : usages_of(app)) page += ".B " + troff(usage) + "\n.br\n";
  if (is_whole) add_commands(page);
  add_options(page, app);
  add_notes(page, app.get_footer());
  if (is_whole) return page;
  add_description(page, app);
  return page + ".SH SEE ALSO\n.BR tapelens (1)\n";
}

// The same for a terminal, which does not format troff.
std::string terminal_page(const CLI::App& app) {
  text::Style style = style_of({}, "auto");
  std::string text = help_text(app, style.width);
  if (app.get_parent() == nullptr) return text;
  text::Page page(style);
  page.line("");
  show_markdown(page, page_text(find_command(app.get_name())->page));
  return text + page.take();
}

int write_all(const CLI::App& app, const std::string& folder, bool is_forced) {
  std::vector<const CLI::App*> pages{&app};
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) pages.push_back(sub);
  for (const CLI::App* page : pages) {
    trace::OutputOptions output;
    output.path = folder + "/" + title_of(*page) + ".1";
    output.kind = manual_kind(troff(title_of(*page)));
    output.is_forced = is_forced;
    output.option = "--all";
    if (const int code = write_output(page_of(*page), output)) return code;
  }
  return kFine;
}

}  // namespace

CommandFunction declare_man(CLI::App& sub) {
  sub.footer(
      "Examples:\n"
      "  tapelens man record   the page of a command, as text in a terminal\n"
      "  tapelens man record | man -l -   the same in a pager\n"
      "  tapelens man | man -l -   the page of tapelens itself\n"
      "  tapelens man --all ~/.local/share/man/man1   all pages, into a folder\n\n"
      "Packages install the pages: man tapelens-record shows one.");
  const auto name = std::make_shared<std::string>(), folder = std::make_shared<std::string>();
  const auto is_forced = std::make_shared<bool>(false);
  CLI::Option* one = sub.add_option("NAME", *name, "A command; by default tapelens itself")->type_name("");
  sub.add_option("--all", *folder, "Write all pages into this folder")->type_name("DIR")->excludes(one);
  add_force_option(sub, *is_forced);
  return [&app = *sub.get_parent(), name, folder, is_forced](const Words&) {
    if (!folder->empty()) return write_all(app, *folder, *is_forced);
    if (!name->empty() && find_command(*name) == nullptr) {
      throw CLI::ValidationError("NAME", "unknown command '" + *name + "'");
    }
    const CLI::App& page = name->empty() ? app : *app.get_subcommand(*name);
    return print_output(isatty(STDOUT_FILENO) != 0 ? terminal_page(page) : page_of(page));
  };
}

}  // namespace tapelens::cli
