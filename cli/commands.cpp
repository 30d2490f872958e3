#include "cli/commands.h"

#include <algorithm>

namespace tapelens::cli {
namespace {

constexpr const char* kRuns = "COMMAND [ARGUMENTS...]";

constexpr Command kCommands[] = {
    {"record", "Record a training program into one file", CommandGroup::record, "record", declare_record, kRuns},
    {"run", "Run a training program with rewrites or on a simulated GPU, without recording it", CommandGroup::record,
     "run", declare_run, kRuns},
    {"top", "Follow the memory of a program while it is recorded", CommandGroup::record, "top", declare_top},
    {"dump", "Make a recording of a program that runs under record --on-demand", CommandGroup::record,
     "flight-recorder", declare_dump},
    {"attach", "Record a Python program that already runs", CommandGroup::record, "attach", declare_attach},
    {"seal", "Recover the recording of a crashed run", CommandGroup::record, "seal", declare_seal},
    {"import", "Convert a memory snapshot of PyTorch to a recording", CommandGroup::record, "import", declare_import},
    {"report", "Report the memory at the peak and its holders", CommandGroup::read, "report", declare_report},
    {"advise", "Find avoidable memory and predict the peak without it", CommandGroup::read, "advise", declare_advise,
     nullptr, "--list [CHECK]"},
    {"view", "Show a recording in a window", CommandGroup::read, "gui", declare_view},
    {"export", "Convert a recording to the format of another tool", CommandGroup::read, "export", declare_export},
    {"diff", "Compare the memory of two runs", CommandGroup::compare, "diff", declare_diff},
    {"check", "Fail if memory exceeds a budget or regresses from a baseline", CommandGroup::compare, "check",
     declare_check},
    {"ranks", "Compare the ranks of a run and find outliers", CommandGroup::compare, "ranks", declare_ranks},
    {"verify", "Prove that a rewritten or patched program has the same gradients", CommandGroup::compare, "verify",
     declare_verify, kRuns},
    {"fit", "Find the largest batch that fits on a GPU, without the GPU", CommandGroup::fit, "fit", declare_fit, kRuns,
     "--list-gpus"},
    {"budget", "Measure the activation memory budgets of torch.compile", CommandGroup::fit, "budget", declare_budget,
     kRuns},
    {"doctor", "Check whether this machine can record a program", CommandGroup::setup, "doctor", declare_doctor,
     "[PROGRAM]"},
    {"build-probe", "Build a probe for an unsupported PyTorch build", CommandGroup::setup, "install",
     declare_build_probe},
    {"completion", "Print the completion script of a shell", CommandGroup::setup, "completion", declare_completion},
    {"man", "Print the manual page of a command", CommandGroup::setup, "completion", declare_man},
};

struct FormerCommand {
  std::string_view name;
  const char* command;
  const char* option;
};
constexpr FormerCommand kFormerCommands[] = {{"checks", "advise", "--list"}, {"gpus", "fit", "--list-gpus"}};

struct FormerOption {
  std::string_view name, now;
};
constexpr FormerOption kFormerOptions[] = {
    {"--plan", "--apply"}, {"--simulate-gpu", "--gpu"}, {"--simulate-world", "--world"}, {"--to", "--format"}};

bool has_option(const CLI::App& sub, std::string_view name) {
  return sub.get_option_no_throw(std::string(name)) != nullptr;
}

void replace_former_option(const CLI::App& sub, std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  for (const FormerOption& former : kFormerOptions) {
    if (name == former.name && !has_option(sub, name) && has_option(sub, former.now)) {
      word.replace(0, name.size(), former.now);
      return;
    }
  }
}

}  // namespace

const char* title_of(CommandGroup group) {
  switch (group) {
    case CommandGroup::record:
      return "Record and run";
    case CommandGroup::read:
      return "Read a recording";
    case CommandGroup::compare:
      return "Compare and gate";
    case CommandGroup::fit:
      return "Fit a GPU";
    case CommandGroup::setup:
      break;
  }
  return "Set up";
}

std::span<const Command> commands() { return kCommands; }

const Command* find_command(std::string_view name) {
  const auto found = std::ranges::find(kCommands, name, [](const Command& one) { return std::string_view(one.name); });
  return found != std::end(kCommands) ? &*found : nullptr;
}

std::vector<std::string> usages_of(const CLI::App& app) {
  if (app.get_parent() == nullptr) return {"tapelens COMMAND [OPTIONS]"};
  const Command& command = *find_command(app.get_name());
  const std::string name = "tapelens " + app.get_name();
  std::string usage = name + " [OPTIONS]";
  for (const CLI::Option* option : app.get_options()) {
    if (option->nonpositional()) continue;
    const bool is_required = option->get_required() || command.instead != nullptr;
    usage += is_required ? " " + option->get_name() : " [" + option->get_name() + "]";
    if (option->get_items_expected_max() > 1) usage += "...";
  }
  if (command.rest != nullptr) {
    usage += command.rest[0] == '[' ? " [-- " + std::string(command.rest + 1) : " -- " + std::string(command.rest);
  }
  std::vector<std::string> usages{std::move(usage)};
  if (command.instead != nullptr) usages.push_back(name + " " + command.instead);
  return usages;
}

void replace_former_names(const CLI::App& app, Words& arguments) {
  if (arguments.empty()) return;
  for (const FormerCommand& former : kFormerCommands) {
    if (arguments[0] != former.name) continue;
    arguments[0] = former.command;
    arguments.insert(arguments.begin() + 1, former.option);
    break;
  }
  if (find_command(arguments[0]) == nullptr) return;
  const CLI::App& sub = *app.get_subcommand(arguments[0]);
  for (std::string& word : arguments) replace_former_option(sub, word);
}

}  // namespace tapelens::cli
