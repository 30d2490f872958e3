// tapelens checks: lists the checks, or explains one.
#include <cstdio>
#include <memory>
#include <sstream>

#include "analyzer/report/format.h"
#include "analyzer/report/layout.h"
#include "cli/checking.h"
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/text.h"
#include "plugins/builtin.h"

namespace tapelens::cli {
namespace {

using report::Page;
using report::Paint;

struct ChecksCommand {
  std::string id, color = "auto";
  std::vector<std::string> plugins;
};

void list(Page& page, const advise::Checks& checks) {
  unsigned width = 0;
  for (const std::string& id : ids(checks)) width = std::max(width, report::columns(id));
  for (const advise::Checks::Entry& entry : checks.entries()) {
    const check::CheckInfo info = entry.check->info();
    const std::string id = report::pad_right(info.id, width);
    const std::string origin = entry.origin == "built in" ? "" : " (" + entry.origin + ")";
    page.line(page.paint(Paint::bold, id) + "  " + std::string(info.title) + page.paint(Paint::dim, origin));
  }
}

// Prints Markdown without the marks that only a renderer needs: headings, emphasis, fences, table rules.
void show(Page& page, std::string_view markdown) {
  std::istringstream lines{std::string(markdown)};
  bool in_code = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      in_code = !in_code;
    } else if (in_code) {
      page.line(page.paint(Paint::cyan, line.empty() ? "" : "    " + line));
    } else if (line.starts_with("#")) {
      page.line(page.paint(Paint::bold, std::string_view(line).substr(line.find_first_not_of("# "))));
    } else {
      std::string plain;
      for (size_t at = 0, next; at < line.size(); at = next) {
        const size_t begin = line.find("**", at);
        const size_t end = begin == std::string::npos ? begin : line.find("**", begin + 2);
        next = end == std::string::npos ? line.size() : end + 2;
        plain += line.substr(at, (end == std::string::npos ? line.size() : begin) - at);
        if (end != std::string::npos) plain += page.paint(Paint::bold, line.substr(begin + 2, end - begin - 2));
      }
      page.line(plain);
    }
  }
}

void explain(Page& page, const advise::Checks::Entry& entry) {
  const check::CheckInfo info = entry.check->info();
  if (const std::string_view text = plugins::page(info.id); entry.origin == "built in" && !text.empty()) {
    show(page, text);
  } else {
    page.line(page.paint(Paint::bold, std::string(info.id) + ": " + std::string(info.title)));
    page.line("");
    page.paragraph("", info.help);
  }
  if (!info.options.empty())
    page.heading("Options", "tapelens advise FILE --option " + std::string(info.id) + ".NAME=VALUE");
  for (const check::Option& option : info.options) {
    page.paragraph("  " + std::string(option.name) + "  ",
                   std::string(option.help) + " (" + std::string(option.default_value) + " if not given)");
  }
  page.line("");
  std::string facts = "Version " + std::to_string(info.version) + ", " + entry.origin;
  if (entry.origin == "built in") facts += "; its page: plugins/" + std::string(info.id) + "/README.md";
  if (info.is_alternative) facts += ". Its findings do not count for the peak with all findings fixed";
  page.paragraph("", facts + ".", Paint::dim);
}

int checks_command(const ChecksCommand& command) {
  const advise::Checks checks = all_checks(command.plugins);
  Page page(style_of({}, command.color));
  if (command.id.empty()) {
    list(page, checks);
    page.line("");
    page.paragraph("", "tapelens checks ID explains one.", Paint::dim);
    return print_output(page.take());
  }
  const advise::Checks::Entry* entry = checks.find(command.id);
  if (entry == nullptr) {
    const auto meant = nearest(command.id, ids(checks));
    throw CLI::ValidationError("there is no check '" + command.id + "'" +
                               (meant ? ", did you mean '" + *meant + "'?" : ": tapelens checks lists them"));
  }
  explain(page, *entry);
  return print_output(page.take());
}

}  // namespace

void add_checks(CLI::App& app, int& exit_code) {
  CLI::App* sub = app.add_subcommand("checks", "List what tapelens advise looks for, or explain one check");
  sub->footer(
      "Examples:\n"
      "  tapelens checks                                  all, one a line\n"
      "  tapelens checks trivial-concat                   what it finds, how that is proved, how to fix it\n"
      "  tapelens checks --plugin ./libmine.so            those of a shared library too\n\n"
      "docs/plugins.md tells how to write one.");
  const auto options = std::make_shared<ChecksCommand>();
  sub->add_option("CHECK", options->id, "The check to explain; all are listed if not given")->type_name("");
  sub->add_option("--plugin", options->plugins, "A shared library with further checks; may be given more than once")
      ->type_name("PATH")
      ->expected(1)
      ->take_all();
  sub->add_option("--color", options->color, "Color; auto: on a terminal, unless NO_COLOR is set")
      ->check(one_of({"auto", "always", "never"}))
      ->type_name("{auto,always,never}")
      ->capture_default_str();
  sub->callback([options, &exit_code] { exit_code = checks_command(*options); });
}

}  // namespace tapelens::cli
