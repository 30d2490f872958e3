// The commands of `tapelens`, one file each. add_X declares the options of a command; after parsing it runs a given
// command and stores its exit code. main.cpp calls them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tapelens::cli {

// Documented in README.md. `record` and `run` return their command's exit code instead.
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

// The arguments after `--` in the usage line of a command; null if it takes none.
inline const char* after_dashes(std::string_view name) {
  if (name == "record" || name == "run" || name == "verify" || name == "fit" || name == "budget") {
    return "-- COMMAND [ARGUMENTS...]";
  }
  if (name == "doctor") return "[-- PROGRAM]";
  return nullptr;
}

// "tapelens record [OPTIONS] -- COMMAND [ARGUMENTS...]", in --help and in the manual page.
inline std::string usage_of(const CLI::App& app) {
  if (app.get_parent() == nullptr) return "tapelens COMMAND [OPTIONS]";
  std::string usage = "tapelens " + app.get_name() + " [OPTIONS]";
  for (const CLI::Option* option : app.get_options()) {
    if (!option->nonpositional()) usage += " " + option->get_name();
  }
  const char* rest = after_dashes(app.get_name());
  return rest == nullptr ? usage : usage + " " + rest;
}

// `command`: the words after `--`, unchanged.
void add_record(CLI::App& app, int& exit_code, const std::vector<std::string>& command);
void add_run(CLI::App& app, int& exit_code, const std::vector<std::string>& command);
void add_verify(CLI::App& app, int& exit_code, const std::vector<std::string>& command);
void add_fit(CLI::App& app, int& exit_code, const std::vector<std::string>& command);
void add_budget(CLI::App& app, int& exit_code, const std::vector<std::string>& command);
void add_report(CLI::App& app, int& exit_code);
void add_advise(CLI::App& app, int& exit_code);
void add_diff(CLI::App& app, int& exit_code);
void add_ranks(CLI::App& app, int& exit_code);
void add_export(CLI::App& app, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_view(CLI::App& app, int& exit_code);
void add_checks(CLI::App& app, int& exit_code);
void add_gpus(CLI::App& app, int& exit_code);
void add_seal(CLI::App& app, int& exit_code);
void add_build_probe(CLI::App& app, int& exit_code);
void add_import(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code, const std::vector<std::string>& command);
void add_completion(CLI::App& app, int& exit_code);
void add_man(CLI::App& app, int& exit_code);

}  // namespace tapelens::cli
