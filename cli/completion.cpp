// tapelens completion: prints a shell's completion script, made from the declared commands and options.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>

#include "cli/applying.h"
#include "cli/checking.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/text.h"
#include "simulated/cards/cards.h"

namespace tapelens::cli {
namespace {

// The completion of an option's value or of a positional.
enum class Kind { none, recording, folder, file, command, choice };

struct OptionFacts {
  std::vector<std::string> names;  // "-o", "--output"; empty: a positional
  std::string description;
  std::vector<std::string> choices;
  Kind kind = Kind::none;  // kind of its value
  bool takes_value = false;
  bool is_value_optional = false;
};

struct CommandFacts {
  std::string name, description;
  std::vector<OptionFacts> options, positionals;
  bool runs_a_command = false;  // has a command after --
};

// CLI11 stores choices only as the text of their check: "{text,json,markdown}".
std::vector<std::string> choices_of(const std::string& type_name) {
  const size_t begin = type_name.find('{'), end = type_name.find('}');
  std::vector<std::string> choices;
  if (begin == std::string::npos || end == std::string::npos) return choices;
  std::string choice;
  for (const char c : type_name.substr(begin + 1, end - begin - 1) + ",") {
    if (c != ',') {
      choice += c;
    } else if (!choice.empty()) {
      choices.push_back(std::exchange(choice, {}));
    }
  }
  return choices;
}

std::vector<std::string> card_names() {
  std::vector<std::string> names;
  for (const simulated::Card& card : simulated::cards()) names.emplace_back(card.id);
  return names;
}

OptionFacts facts_of(const CLI::Option& option) {
  OptionFacts facts;
  for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  facts.description = option.get_description();
  facts.takes_value = option.get_items_expected_max() > 0;
  facts.is_value_optional = option.get_items_expected_min() == 0;
  facts.choices = choices_of(option.get_type_name());
  const std::string type = facts.names.empty() ? option.get_name() : option.get_type_name();
  if (type == "GPU") facts.choices = card_names();
  if (type == "SIZE|gpu") facts.choices = {"gpu"};
  if (type == "CHECK") facts.choices = ids(all_checks());
  if (type == "REWRITE") facts.choices = known_rewrites();
  if (!facts.choices.empty()) {
    facts.kind = Kind::choice;
  } else if (type.starts_with("FILE") || type == "OTHER") {
    facts.kind = Kind::recording;
  } else if (type.starts_with("PATH") || type == "SNAPSHOT") {
    facts.kind = Kind::file;
  } else if (type.starts_with("DIR")) {
    facts.kind = Kind::folder;
  }
  return facts;
}

std::vector<CommandFacts> facts_of(const CLI::App& app) {
  std::vector<CommandFacts> all;
  for (const Command& each : commands()) {
    CommandFacts command{each.name, each.summary, {}, {}, each.rest != nullptr};
    const CLI::App& sub = *app.get_subcommand(each.name);
    for (const CLI::Option* option : shown_options(sub, false)) command.options.push_back(facts_of(*option));
    for (const CLI::Option* option : shown_options(sub, true)) command.positionals.push_back(facts_of(*option));
    all.push_back(std::move(command));
  }
  return all;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// ---- bash ------------------------------------------------------------------------------------------------------

std::string bash_action(const OptionFacts& option) {
  switch (option.kind) {
    case Kind::recording:
      return "_tapelens_recordings";
    case Kind::file:
      return "_tapelens_files -f";
    case Kind::folder:
      return "_tapelens_files -d";
    case Kind::choice:
      return "_tapelens_words \"" + joined(option.choices, " ") + "\"";
    case Kind::none:
    case Kind::command:
      break;
  }
  return "COMPREPLY=()";
}

void print_bash(const std::vector<CommandFacts>& commands) {
  std::vector<std::string> names;
  for (const CommandFacts& command : commands) names.push_back(command.name);
  std::puts(
      "# bash completion for tapelens\n"
      "_tapelens_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\"); }\n"
      "_tapelens_files() { compopt -o filenames; mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$cur\"); }\n"
      "_tapelens_recordings() {\n"
      "  compopt -o filenames\n"
      "  mapfile -t COMPREPLY < <(compgen -d -- \"$cur\"; compgen -f -X '!*.tapelens' -- \"$cur\")\n"
      "}\n"
      "_tapelens() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} i\n"
      "  for ((i = 2; i < COMP_CWORD; i++)); do\n"
      "    if [[ ${COMP_WORDS[i]} == -- ]]; then\n"
      "      # Another command follows --: use its own completion, if it has one.\n"
      "      local offset=$((i + 1))\n"
      "      if declare -F _comp_command_offset > /dev/null; then _comp_command_offset $offset\n"
      "      elif declare -F _command_offset > /dev/null; then _command_offset $offset\n"
      "      elif ((COMP_CWORD == offset)); then _tapelens_files -c\n"
      "      else _tapelens_files -f; fi\n"
      "      return\n"
      "    fi\n"
      "  done\n"
      "  if ((COMP_CWORD == 1)); then");
  std::printf("    _tapelens_words \"%s --help --version\"\n    return\n  fi\n  case ${COMP_WORDS[1]} in\n",
              joined(names, " ").c_str());
  for (const CommandFacts& command : commands) {
    std::printf("    %s)\n      case $prev in\n", command.name.c_str());
    std::vector<std::string> words;
    for (const OptionFacts& option : command.options) {
      words.insert(words.end(), option.names.begin(), option.names.end());
      if (!option.takes_value) continue;
      std::printf("        %s) %s; return ;;\n", joined(option.names, "|").c_str(), bash_action(option).c_str());
    }
    if (command.runs_a_command) words.push_back("--");
    std::printf("      esac\n      if [[ $cur == -* ]]; then _tapelens_words \"%s\"\n", joined(words, " ").c_str());
    if (!command.positionals.empty()) {
      std::printf("      else %s\n", bash_action(command.positionals.front()).c_str());
    } else if (command.runs_a_command) {
      std::printf("      else _tapelens_words \"--\"\n");
    }
    std::puts("      fi ;;");
  }
  std::puts("  esac\n}\ncomplete -F _tapelens tapelens");
}

// ---- zsh -------------------------------------------------------------------------------------------------------

std::string zsh_action(const OptionFacts& option) {
  switch (option.kind) {
    case Kind::recording:
      return "_files -g \"*.tapelens\"";
    case Kind::file:
      return "_files";
    case Kind::folder:
      return "_files -/";
    case Kind::choice:
      return "(" + joined(option.choices, " ") + ")";
    case Kind::none:
    case Kind::command:
      break;
  }
  return " ";
}

// Escapes text inside '...' of an _arguments specification.
std::string zsh_text(std::string text) {
  for (const auto& [from, to] : {std::pair{"\\", "\\\\"}, {"'", "'\\''"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}}) {
    text = replaced(text, from, to);
  }
  return text;
}

void print_zsh(const std::vector<CommandFacts>& commands) {
  std::puts("#compdef tapelens\n_tapelens() {\n  local -a commands=(");
  for (const CommandFacts& command : commands) {
    std::printf("    '%s:%s'\n", command.name.c_str(), replaced(command.description, "'", "'\\''").c_str());
  }
  std::puts(
      "  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    _arguments '--help[Help]' "
      "'--version[Version]'\n"
      "    return\n  fi\n"
      "  local dashes=${words[(i)--]}\n"
      "  if ((dashes < CURRENT)); then\n"
      "    words=(\"${(@)words[dashes+1,-1]}\"); ((CURRENT -= dashes)); _normal; return\n"
      "  fi\n"
      "  local command=${words[2]}\n"
      "  words=(\"${(@)words[2,-1]}\"); ((CURRENT--))\n  case $command in");
  for (const CommandFacts& command : commands) {
    std::printf("    %s) _arguments", command.name.c_str());
    for (const OptionFacts& option : command.options) {
      const std::string excluded = option.names.size() > 1 ? "(" + joined(option.names, " ") + ")" : "";
      for (const std::string& name : option.names) {
        std::printf(" \\\n      '%s%s[%s]%s'", excluded.c_str(), name.c_str(), zsh_text(option.description).c_str(),
                    !option.takes_value
                        ? ""
                        : ((option.is_value_optional ? "::value:" : ":value:") + zsh_action(option)).c_str());
      }
    }
    for (const OptionFacts& positional : command.positionals) {
      std::printf(" \\\n      ':%s:%s'", zsh_text(positional.description).c_str(), zsh_action(positional).c_str());
    }
    std::puts(" ;;");
  }
  std::puts(
      "  esac\n}\nif [[ ${funcstack[1]} == _tapelens ]]; then _tapelens \"$@\"; else compdef _tapelens tapelens; fi");
}

// ---- fish ------------------------------------------------------------------------------------------------------

std::string fish_quote(std::string text) {
  text = replaced(replaced(std::move(text), "\\", "\\\\"), "'", "\\'");
  return "'" + text + "'";
}

std::string fish_action(const OptionFacts& option) {
  switch (option.kind) {
    case Kind::recording:
      return " -x -a '(__fish_complete_suffix .tapelens)'";
    case Kind::file:
      return " -r -F";
    case Kind::folder:
      return " -x -a '(__fish_complete_directories)'";
    case Kind::choice:
      return (option.is_value_optional ? " -f -a " : " -x -a ") + fish_quote(joined(option.choices, " "));
    case Kind::none:
    case Kind::command:
      break;
  }
  return option.takes_value ? " -x" : "";
}

void print_fish(const std::vector<CommandFacts>& commands) {
  std::puts(
      "# fish completion for tapelens\n"
      "function __tapelens_after_dashes\n"
      "  contains -- -- (commandline -opc)\n"
      "end\n"
      "complete -c tapelens -f\n"
      "complete -c tapelens -n __tapelens_after_dashes -F\n"
      "complete -c tapelens -n __fish_use_subcommand -l help -d Help\n"
      "complete -c tapelens -n __fish_use_subcommand -l version -d Version");
  for (const CommandFacts& command : commands) {
    std::printf("complete -c tapelens -n __fish_use_subcommand -a %s -d %s\n", command.name.c_str(),
                fish_quote(command.description).c_str());
    const std::string when =
        "complete -c tapelens -n '__fish_seen_subcommand_from " + command.name + "; and not __tapelens_after_dashes'";
    for (const OptionFacts& option : command.options) {
      std::string names;
      for (const std::string& name : option.names) {
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      std::printf("%s%s%s -d %s\n", when.c_str(), names.c_str(), option.takes_value ? fish_action(option).c_str() : "",
                  fish_quote(option.description).c_str());
    }
    for (const OptionFacts& positional : command.positionals) {
      std::printf("%s%s\n", when.c_str(), fish_action(positional).c_str());
    }
  }
}

struct Shell {
  std::string_view name;
  void (*print)(const std::vector<CommandFacts>&);
};
constexpr Shell kShells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};

}  // namespace

CommandFunction declare_completion(CLI::App& sub) {
  sub.footer(
      "Examples:\n"
      "  source <(tapelens completion bash)\n"
      "  tapelens completion zsh > ~/.zfunc/_tapelens\n"
      "  tapelens completion fish > ~/.config/fish/completions/tapelens.fish\n\n"
      "cmake --install puts the scripts where the shells look.");
  const auto name = std::make_shared<std::string>();
  Words names;
  for (const Shell& shell : kShells) names.emplace_back(shell.name);
  sub.add_option("SHELL", *name, joined(names, ", "))->required()->check(one_of(names))->type_name("");
  return [&app = *sub.get_parent(), name](const Words&) -> int {
    std::ranges::find(kShells, *name, &Shell::name)->print(facts_of(app));
    const bool is_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    if (is_written || errno == EPIPE) return kFine;
    return fail({std::string("standard output: cannot be written: ") + std::strerror(errno)});
  };
}

}  // namespace tapelens::cli
