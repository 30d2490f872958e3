// The commands of `tapelens`, one file each. The list in commands.cpp is the only one: --help, completion, the manual
// pages and docs/commands.md come from it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapelens::cli {

// Documented in docs/commands.md. `record` and `run` return their command's exit code instead.
enum ExitCode : int {
  kFine = 0,
  kNo = 1,  // check: regressed, or above a budget; report --fail-above, advise --fail-on: the condition holds; verify:
            // different; fit: no size fits; budget: none lowers the peak; doctor: recording will not work; view: no
            // window; build-probe: not compiled
  kUsage = 2,
  kUnreadable = 3,  // unreadable input, or unwritable output
  kDataLost = 4,    // with --strict (ranks: or a rank is missing); verify, check: always, because they need all data
  // verify only:
  kNothingCompared = 5,  // or two bare runs differ
  kCommandFailed = 6,    // verify: the bare command failed; fit: every run did; budget: the first run did
};

using Words = std::vector<std::string>;

// Runs a command whose options have been parsed; returns its exit code. `command`: the words after `--`, unchanged.
// Throws CLI::ParseError for wrong usage.
using CommandFunction = std::function<int(const Words& command)>;

// The groups of commands in --help, in its order.
enum class CommandGroup : uint8_t { record, read, compare, fit, setup };
inline constexpr CommandGroup kCommandGroups[] = {CommandGroup::record, CommandGroup::read, CommandGroup::compare,
                                                  CommandGroup::fit, CommandGroup::setup};
const char* title_of(CommandGroup group);

struct Command {
  const char* name;
  const char* summary;  // a line in the imperative
  CommandGroup group;
  const char* page;                           // its page: "record" is docs/record.md
  CommandFunction (*declare)(CLI::App& sub);  // declares the options and the text below them in --help
  const char* rest = nullptr;                 // the arguments after `--` in the usage; null: the command takes none
  const char* instead = nullptr;              // the options of a second usage, which needs neither arguments nor `rest`
};

// In the order of --help.
std::span<const Command> commands();
const Command* find_command(std::string_view name);  // null: no such command
// "tapelens record [OPTIONS] -- COMMAND [ARGUMENTS...]", and the second usage if there is one; in --help and in the
// manual page.
std::vector<std::string> usages_of(const CLI::App& app);
// Replaces the former names of commands and options, which scripts may use. No help text has them.
void replace_former_names(const CLI::App& app, Words& arguments);

CommandFunction declare_record(CLI::App& sub);
CommandFunction declare_run(CLI::App& sub);
CommandFunction declare_verify(CLI::App& sub);
CommandFunction declare_fit(CLI::App& sub);
CommandFunction declare_budget(CLI::App& sub);
CommandFunction declare_top(CLI::App& sub);
CommandFunction declare_report(CLI::App& sub);
CommandFunction declare_advise(CLI::App& sub);
CommandFunction declare_diff(CLI::App& sub);
CommandFunction declare_ranks(CLI::App& sub);
CommandFunction declare_export(CLI::App& sub);
CommandFunction declare_check(CLI::App& sub);
CommandFunction declare_view(CLI::App& sub);
CommandFunction declare_attach(CLI::App& sub);
CommandFunction declare_dump(CLI::App& sub);
CommandFunction declare_seal(CLI::App& sub);
CommandFunction declare_build_probe(CLI::App& sub);
CommandFunction declare_import(CLI::App& sub);
CommandFunction declare_doctor(CLI::App& sub);
CommandFunction declare_completion(CLI::App& sub);
CommandFunction declare_man(CLI::App& sub);

}  // namespace tapelens::cli
