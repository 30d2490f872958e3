// tapelens man: prints the manual pages, made from the declared commands and options.
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/output_kinds.h"

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

std::string names_of(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : option.get_snames()) names += (names.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames()) names += (names.empty() ? "--" : ", --") + name;
  return names;
}

std::string title_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? "tapelens" : "tapelens-" + app.get_name();
}

void add_options(std::string& page, const CLI::App& app) {
  page += ".SH OPTIONS\n";
  for (const CLI::Option* option : app.get_options()) {
    const std::string names = option->nonpositional() ? names_of(*option) : option->get_name();
    const std::string type =
        option->nonpositional() && option->get_items_expected_max() > 0 ? " " + option->get_type_name() : std::string();
    page += ".TP\n.B " + troff(names + type) + "\n" + troff(option->get_description()) + "\n";
    if (const std::string value = option->get_default_str(); !value.empty()) page += troff("Default: " + value) + ".\n";
  }
}

void add_commands(std::string& page, const CLI::App& app) {
  page += ".SH COMMANDS\n";
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    page += ".TP\n.BR tapelens\\-" + troff(sub->get_name()) + " (1)\n" + troff(sub->get_description()) + "\n";
  }
}

std::string page_of(const CLI::App& app) {
  std::string page = ".TH " + troff(title_of(app)) + " 1 \"\" \"tapelens " TAPELENS_VERSION "\" \"Tapelens\"\n";
  const bool is_whole = app.get_parent() == nullptr;
  const std::string description = app.get_description();
  page += ".SH NAME\n" + troff(title_of(app)) + " \\- " + troff(description.substr(0, description.find('\n'))) + "\n";
  page += ".SH SYNOPSIS\n.B " + troff(usage_of(app)) + "\n";
  if (is_whole) add_commands(page, app);
  add_options(page, app);
  if (const std::string footer = app.get_footer(); !footer.empty()) {
    page += ".SH NOTES\n.nf\n" + troff(footer) + "\n.fi\n";
  }
  if (!is_whole) page += ".SH SEE ALSO\n.BR tapelens (1)\n";
  return page;
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

void add_man(CLI::App& app, int& exit_code) {
  CLI::App* sub = app.add_subcommand("man", "Print the manual page of a command");
  sub->footer(
      "Examples:\n"
      "  tapelens man | man -l -                        of tapelens itself\n"
      "  tapelens man record | man -l -\n"
      "  tapelens man --all ~/.local/share/man/man1     all of them, into a folder\n\n"
      "cmake --install puts them where man looks.");
  const auto name = std::make_shared<std::string>(), folder = std::make_shared<std::string>();
  const auto is_forced = std::make_shared<bool>(false);
  CLI::Option* one = sub->add_option("NAME", *name, "A command; tapelens itself if not given")->type_name("");
  sub->add_option("--all", *folder, "Write all pages into this folder")->type_name("DIR")->excludes(one);
  add_force_option(*sub, *is_forced);
  sub->callback([&app, name, folder, is_forced, &exit_code] {
    if (!folder->empty()) {
      exit_code = write_all(app, *folder, *is_forced);
      return;
    }
    const CLI::App* page = name->empty() ? &app : nullptr;
    for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; })) {
      if (each->get_name() == *name) page = each;
    }
    if (page == nullptr) throw CLI::ValidationError("NAME", "there is no command '" + *name + "'");
    exit_code = print_output(page_of(*page));
  });
}

}  // namespace tapelens::cli
