#include "cli/help.h"

#include <algorithm>

#include "analyzer/text/format.h"
#include "analyzer/text/layout.h"
#include "cli/commands.h"

namespace tapelens::cli {
namespace {

using text::Page;

constexpr unsigned kNames = 28;  // columns of names and types before the descriptions
constexpr std::string_view kBlanks = "   ";

// "  NAMES    text", wrapped. The text of a long name begins in the line below it.
void add_item(Page& page, const std::string& names, const std::string& text) {
  const unsigned left = std::min(kNames, page.width() / 3);
  if (text::columns(names) + 4 <= left) {
    page.paragraph(text::pad_right("  " + names, left), text);
  } else {
    page.line("  " + names);
    page.paragraph(std::string(left, ' '), text);
  }
}

void add_options(Page& page, const CLI::App& app, bool is_positional, const char* title) {
  const std::vector<const CLI::Option*> options = shown_options(app, is_positional);
  if (options.empty()) return;
  page.line("");
  page.line(std::string(title) + ":");
  for (const CLI::Option* option : options) {
    const OptionText text = option_text(*option);
    add_item(page, text.names, text.help);
  }
}

void add_commands(Page& page) {
  unsigned width = 0;
  for (const Command& command : commands()) width = std::max(width, text::columns(command.name));
  for (const CommandGroup group : kCommandGroups) {
    page.line("");
    page.line(std::string(title_of(group)) + ":");
    for (const Command& command : commands()) {
      if (command.group != group) continue;
      page.paragraph("  " + text::pad_right(command.name, width) + "  ", command.summary);
    }
  }
}

// Rows with a common column for the right parts. A right part wraps there only beside a short left part, such as an
// exit code; otherwise it begins in the line below.
void add_rows(Page& page, const std::vector<FooterLine>& rows) {
  unsigned left = 0;
  for (const FooterLine& row : rows) {
    const unsigned columns = text::columns(row.left) + 4;
    if (!row.right.empty() && columns <= page.width() * 2 / 3) left = std::max(left, columns);
  }
  for (const FooterLine& row : rows) {
    if (row.right.empty()) {
      page.line("  " + row.left);
    } else if (text::columns(row.left) + 4 <= left &&
               (left <= page.width() / 4 || left + text::columns(row.right) <= page.width())) {
      page.paragraph(text::pad_right("  " + row.left, left), row.right);
    } else {
      page.line("  " + row.left);
      page.paragraph("      ", row.right);
    }
  }
}

void add_footer(Page& page, std::string_view footer) {
  std::vector<FooterLine> rows;
  const auto end_rows = [&] {
    add_rows(page, rows);
    rows.clear();
  };
  for (FooterLine& line : footer_lines(footer)) {
    if (line.is_row) {
      rows.push_back(std::move(line));
      continue;
    }
    end_rows();
    page.paragraph("", line.left);
  }
  end_rows();
}

std::string remarks_of(const CLI::Option& option) {
  std::string remarks;
  const auto add = [&](const std::string& remark) { remarks += (remarks.empty() ? "" : ", ") + remark; };
  if (option.get_required()) add("required");
  if (const std::string value = option.get_default_str(); !value.empty()) add("default: " + value);
  std::string others;
  for (const CLI::Option* other : option.get_excludes()) others += (others.empty() ? "" : ", ") + other->get_name();
  if (!others.empty()) add("not with " + others);
  return remarks.empty() ? "" : " [" + remarks + "]";
}

}  // namespace

OptionText option_text(const CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_snames()) text.names += (text.names.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames()) text.names += (text.names.empty() ? "--" : ", --") + name;
  if (!option.nonpositional()) text.names = option.get_name();
  if (option.nonpositional() && option.get_items_expected_max() > 0) {
    const std::string type = option.get_type_name();
    text.names += option.get_items_expected_min() == 0 ? " [" + type + "]" : " " + type;
  }
  text.help = option.get_description() + remarks_of(option);
  return text;
}

std::vector<const CLI::Option*> shown_options(const CLI::App& app, bool is_positional) {
  std::vector<const CLI::Option*> options = app.get_options([&](const CLI::Option* option) {
    return option->nonpositional() != is_positional && !option->get_group().empty();
  });
  std::ranges::stable_partition(options, [&](const CLI::Option* option) {
    return option != app.get_help_ptr() && option->get_name() != "--version";
  });
  return options;
}

std::vector<FooterLine> footer_lines(std::string_view footer) {
  std::vector<FooterLine> lines;
  while (!footer.empty()) {
    std::string_view line = footer.substr(0, footer.find('\n'));
    footer.remove_prefix(std::min(line.size() + 1, footer.size()));
    FooterLine made;
    made.is_row = line.starts_with("  ");
    if (made.is_row) line.remove_prefix(2);
    const size_t between = made.is_row ? line.find(kBlanks) : std::string_view::npos;
    made.left = line.substr(0, between);
    if (between != std::string_view::npos) made.right = line.substr(line.find_first_not_of(' ', between));
    lines.push_back(std::move(made));
  }
  return lines;
}

std::string more_text(const CLI::App& app) { return "More: tapelens man " + app.get_name(); }

std::string help_text(const CLI::App& app, unsigned width) {
  const bool is_whole = app.get_parent() == nullptr;
  Page page(text::Style{.width = width});
  page.paragraph("", app.get_description());
  page.line("");
  const char* first = "Usage: ";
  for (const std::string& usage : usages_of(app)) {
    page.paragraph(first, usage);
    first = "       ";
  }
  if (is_whole) add_commands(page);
  add_options(page, app, true, "Arguments");
  add_options(page, app, false, "Options");
  page.line("");
  add_footer(page, app.get_footer());
  if (is_whole) return page.take();
  page.line("");
  page.line(more_text(app));
  return page.take();
}

}  // namespace tapelens::cli
