// tapelens: separates the command to run, passes the rest to the commands, and reports usage errors in one line.
#include <algorithm>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "analyzer/report/escape.h"
#include "cli/commands.h"
#include "cli/install_paths.h"
#include "cli/messages.h"
#include "cli/text.h"

namespace tapelens::cli {
namespace {

std::string version_text() {
  const std::vector<std::string> minors = probe_minors(library_folder());
  std::string text = "tapelens " TAPELENS_VERSION;
  for (size_t i = 0; i < minors.size(); ++i) text += (i == 0 ? " (records PyTorch " : ", ") + minors[i];
  return text + (minors.empty() ? " (no probes: reads recordings only)" : ")");
}

class Formatter : public CLI::Formatter {
 public:
  Formatter() { column_width(28); }
  std::string make_usage(const CLI::App* app, std::string) const override { return "Usage: " + usage_of(*app) + "\n"; }
};

int usage_error(const std::string& command, const std::string& what) {
  const std::string name = command.empty() ? "tapelens" : "tapelens " + command;
  std::fprintf(stderr, "%s: %s (see %s --help)\n", name.c_str(), report::printable(what).c_str(), name.c_str());
  return kUsage;
}

std::string suggestion(const std::string& word, const std::vector<std::string>& words) {
  const auto meant = nearest(word, words);
  return meant ? ", did you mean '" + *meant + "'?" : "";
}

// The error of CLI11 in one line.
std::string explain(const CLI::ParseError& error, const CLI::App* app, const std::vector<std::string>& rest,
                    bool runs_a_command) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr || rest.empty()) {
    std::string text = error.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  }
  const std::string& word = rest.front();
  if (!word.starts_with("-")) {
    return runs_a_command
               ? "put -- before the command: tapelens " + app->get_name() + " ... -- " + report::shell_quote(rest)
               : "unexpected argument '" + word + "'";
  }
  std::vector<std::string> options;
  for (const CLI::Option* option : app->get_options()) {
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  }
  return "unknown option '" + word + "'" + suggestion(word.substr(0, word.find('=')), options);
}

int run(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string name = arguments.empty() ? "" : arguments[0];
  const bool runs_a_command = after_dashes(name) != nullptr;
  std::vector<std::string> command;
  bool dashes = false;
  if (runs_a_command) {
    const auto found = std::find(arguments.begin(), arguments.end(), "--");
    dashes = found != arguments.end();
    if (dashes) command.assign(found + 1, arguments.end());
    arguments.erase(found, arguments.end());
  }

  int exit_code = kFine;
  CLI::App app("Says which bytes a PyTorch training run keeps alive at its peak, and what keeps them.", "tapelens");
  app.footer(
      "Examples:\n"
      "  tapelens record -- python train.py     makes run.tapelens\n"
      "  tapelens report run.tapelens           says who holds the peak\n"
      "  tapelens advise run.tapelens           says what of it is avoidable, and how to fix it\n"
      "  tapelens view run.tapelens             shows all of it in a window\n\n"
      "tapelens COMMAND --help says more about each.");
  app.set_version_flag("--version", version_text);
  app.formatter(std::make_shared<Formatter>());
  app.require_subcommand(0, 1);  // after a command, another command's name is an ordinary word, such as a file
  add_record(app, exit_code, command);
  add_run(app, exit_code, command);
  add_verify(app, exit_code, command);
  add_fit(app, exit_code, command);
  add_budget(app, exit_code, command);
  add_report(app, exit_code);
  add_advise(app, exit_code);
  add_diff(app, exit_code);
  add_ranks(app, exit_code);
  add_export(app, exit_code);
  add_check(app, exit_code);
  add_view(app, exit_code);
  add_checks(app, exit_code);
  add_gpus(app, exit_code);
  add_seal(app, exit_code);
  add_import(app, exit_code);
  add_build_probe(app, exit_code);
  add_doctor(app, exit_code, command);
  add_completion(app, exit_code);
  add_man(app, exit_code);
  std::vector<std::string> names;
  for (CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(sub->get_name());
    sub->set_version_flag("--version", version_text);
  }

  if (arguments.empty()) {
    std::fputs(app.help().c_str(), stderr);
    return kUsage;
  }
  if (name == "help") {
    arguments.erase(arguments.begin());
    arguments.push_back("--help");
  } else if (!name.starts_with("-") && std::find(names.begin(), names.end(), name) == names.end()) {
    return usage_error("", "unknown command '" + name + "'" + suggestion(name, names));
  }
  const CLI::App* sub = std::find(names.begin(), names.end(), name) != names.end() ? app.get_subcommand(name) : nullptr;
  try {
    std::reverse(arguments.begin(), arguments.end());  // the order that CLI11 expects
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    const auto parsed = app.get_subcommands();
    std::fputs((parsed.empty() ? app.help() : parsed.front()->help()).c_str(), stdout);
    return kFine;
  } catch (const CLI::CallForVersion&) {
    std::printf("%s\n", version_text().c_str());
    return kFine;
  } catch (const CLI::ParseError& error) {
    return usage_error(sub != nullptr ? name : "",
                       explain(error, sub != nullptr ? sub : &app, app.remaining(true), runs_a_command && !dashes));
  }
  return exit_code;
}

}  // namespace
}  // namespace tapelens::cli

int main(int argc, char** argv) {
  try {
    return tapelens::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    tapelens::cli::clear_progress_line();
    tapelens::cli::say("not enough memory: read it on a machine with more, or record fewer steps (--steps A:B)");
  } catch (const std::length_error&) {
    tapelens::cli::clear_progress_line();
    tapelens::cli::say("not enough memory: the file asks for more than there can be");
  }
  return tapelens::cli::kUnreadable;
}
