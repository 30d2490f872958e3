// The commands of `tapelens`, one file each: every add_X declares its options and, when the command was given, runs it
// after parsing and leaves its exit code. Called by main.cpp.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tapelens::cli {

// Documented in README.md. `record` and `run` return their command's exit code instead.
enum ExitCode : int {
  kFine = 0,
  kNo = 1,  // check: regressed, or above a budget; report --fail-above, advise --fail-on: it is so; verify: different;
            // fit: no size fits; budget: none lowers the peak; doctor: recording will not work; view: no window;
            // build-probe: not compiled
  kUsage = 2,
  kUnreadable = 3,  // input that cannot be read, output that cannot be written
  kDataLost = 4,  // and --strict was given (ranks: or one is missing); verify, check: and the recording is needed whole
  // verify only:
  kNothingCompared = 5,  // or two bare runs differ
  kCommandFailed = 6,    // the bare command: its own exit code is told; fit: every run of it; budget: the first
};

// What a command takes after `--`, as its usage line says it; null if it takes no such thing.
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

// `command`: what followed `--`, untouched.
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
