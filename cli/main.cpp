// tapelens: separates the command to run, passes the rest to the commands, and reports usage errors in one line.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "analyzer/text/escape.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/preload.h"
#include "cli/text.h"

namespace tapelens::cli {
namespace {

std::string version_text() {
  const std::vector<std::string> minors = probe_minors(library_folder());
  std::string text = "tapelens " TAPELENS_VERSION;
  for (size_t i = 0; i < minors.size(); ++i) text += (i == 0 ? " (records PyTorch " : ", ") + minors[i];
  return text + (minors.empty() ? " (no probes: reads recordings only)" : ")");
}

int usage_error(const std::string& command, const std::string& what) {
  const std::string name = command.empty() ? "tapelens" : "tapelens " + command;
  std::fprintf(stderr, "%s: %s (see %s --help)\n", name.c_str(), text::printable(what).c_str(), name.c_str());
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
               ? "put -- before the command: tapelens " + app->get_name() + " ... -- " + text::shell_quote(rest)
               : "unexpected argument '" + word + "'";
  }
  std::vector<std::string> options;
  for (const CLI::Option* option : app->get_options()) {
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  }
  return "unknown option '" + word + "'" + suggestion(word.substr(0, word.find('=')), options);
}

constexpr const char* kFooter =
    "Examples:\n"
    "  tapelens record -- python train.py   make run.tapelens\n"
    "  tapelens report run.tapelens   list the holders of the peak\n"
    "  tapelens advise run.tapelens   list avoidable memory and its fixes\n"
    "  tapelens view run.tapelens   show everything in a window\n\n"
    "tapelens COMMAND --help describes a command.";

void declare_all(CLI::App& app, int& exit_code, const Words& command) {
  app.set_help_flag("-h,--help", "Print this help");
  app.set_version_flag("--version", version_text, "Print the version");
  app.footer(kFooter);
  app.require_subcommand(0, 1);  // after a command, another command's name is an ordinary word, such as a file
  for (const Command& each : commands()) {
    CLI::App* sub = app.add_subcommand(each.name, each.summary);
    sub->callback([run = each.declare(*sub), &exit_code, &command] { exit_code = run(command); });
    sub->set_version_flag("--version", version_text, "Print the version");
  }
}

// Takes the command after `--` from the arguments; none if they have no `--`.
std::optional<Words> take_command(Words& arguments) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  if (dashes == arguments.end()) return std::nullopt;
  Words command(dashes + 1, arguments.end());
  arguments.erase(dashes, arguments.end());
  return command;
}

std::string unknown_command(const std::string& name) {
  Words names;
  for (const Command& command : commands()) names.emplace_back(command.name);
  return "unknown command '" + name + "'" + suggestion(name, names);
}

int run(int argc, char** argv) {
  Words arguments(argv + 1, argv + argc), command;
  int exit_code = kFine;
  CLI::App app("Tapelens shows the memory that is alive at the peak of a PyTorch training run, and its holders.",
               "tapelens");
  declare_all(app, exit_code, command);
  if (arguments.empty()) {
    std::fputs(help_text(app, terminal_width(STDERR_FILENO)).c_str(), stderr);
    return kUsage;
  }
  if (arguments[0] == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  const Command* first = find_command(arguments[0]);
  const bool has_rest = first != nullptr && first->rest != nullptr;
  std::optional<Words> rest = has_rest ? take_command(arguments) : std::nullopt;
  if (rest) command = std::move(*rest);
  replace_former_names(app, arguments);
  const std::string name = arguments[0];
  const Command* declared = find_command(name);
  if (!name.starts_with("-") && declared == nullptr) return usage_error("", unknown_command(name));
  const CLI::App* sub = declared != nullptr ? app.get_subcommand(name) : nullptr;
  try {
    std::reverse(arguments.begin(), arguments.end());  // the order that CLI11 expects
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    return print_output(help_text(sub != nullptr ? *sub : app, terminal_width(STDOUT_FILENO)));
  } catch (const CLI::CallForVersion&) {
    return print_output(version_text() + "\n");
  } catch (const CLI::ParseError& error) {
    return usage_error(sub != nullptr ? name : "",
                       explain(error, sub != nullptr ? sub : &app, app.remaining(true), has_rest && !rest));
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
