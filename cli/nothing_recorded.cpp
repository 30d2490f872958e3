#include <signal.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "analyzer/text/escape.h"
#include "cli/doctor_probe.h"
#include "cli/explanation.h"

namespace tapelens::cli {
namespace {

namespace fs = std::filesystem;

// Programs that start others with a clean environment or on another machine.
constexpr std::array<std::string_view, 10> kLauncherNames = {"sudo",   "doas", "su",        "pkexec",      "docker",
                                                             "podman", "ssh",  "apptainer", "singularity", "nsenter"};

bool clears_environment(const std::vector<std::string>& command) {
  const std::string name = fs::path(command[0]).filename().string();
  if (std::ranges::find(kLauncherNames, name) != kLauncherNames.end()) return true;
  return name == "env" && command.size() > 1 && (command[1] == "-i" || command[1] == "--ignore-environment");
}

std::string program_without_preload(const std::string& program) {
  const ProgramFacts facts = look_into(program);
  if (!facts.error.empty() || facts.script) return {};
  if (!facts.dynamic) return "is statically linked";
  if (facts.privileged) return "is setuid or setgid";
  return {};
}

// The signals that end a process unless it handles them. sigabbrev_np() is newer than the oldest supported glibc.
struct EndingSignal {
  int number;
  std::string_view name;
};
constexpr EndingSignal kEndingSignals[] = {
    {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},       {SIGQUIT, "SIGQUIT"},    {SIGILL, "SIGILL"},   {SIGTRAP, "SIGTRAP"},
    {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},       {SIGFPE, "SIGFPE"},      {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"},
    {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},     {SIGPIPE, "SIGPIPE"},    {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},
    {SIGPROF, "SIGPROF"}, {SIGVTALRM, "SIGVTALRM"}, {SIGXCPU, "SIGXCPU"},    {SIGXFSZ, "SIGXFSZ"}, {SIGPOLL, "SIGPOLL"},
    {SIGPWR, "SIGPWR"},   {SIGSYS, "SIGSYS"},       {SIGSTKFLT, "SIGSTKFLT"}};

std::string ended(int exit_code) {
  const auto* signal = std::ranges::find(kEndingSignals, exit_code - 128, &EndingSignal::number);
  if (signal != std::end(kEndingSignals)) {
    return "ended with " + std::to_string(exit_code) + " (" + std::string(signal->name) + ")";
  }
  return "exited with " + std::to_string(exit_code);
}

}  // namespace

std::string why_nothing_was_recorded(const std::vector<std::string>& command, const ChildEnd& end) {
  const std::string program = text::shell_quote(command[0]);
  if (clears_environment(command)) {
    return program + " starts its command without LD_PRELOAD: put `tapelens record --` behind it, before the program";
  }
  if (const std::string why = program_without_preload(command[0]); !why.empty()) {
    return program + " " + why + ", so that LD_PRELOAD does not reach it: name the program that trains";
  }
  const std::string unseen = "no operator of a supported PyTorch was seen";
  if (end.exit_code != 0) return "the command " + ended(end.exit_code) + ", and " + unseen + " before";
  return unseen +
         " (the command did not run PyTorch, or LD_PRELOAD did not reach the process that did). To check: "
         "tapelens doctor -- " +
         program;
}

}  // namespace tapelens::cli
