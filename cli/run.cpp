// tapelens run: runs a command with rewrites, without recording, for production. The exit code, output and signals are
// those of the bare command. If rewriting is impossible, the command runs unchanged, with one message.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/plan/plan.h"
#include "analyzer/plan/plan_text.h"
#include "analyzer/text/escape.h"
#include "cli/applying.h"
#include "cli/child.h"
#include "cli/commands.h"
#include "cli/experiment_runs.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/preload.h"
#include "cli/scoped_files.h"
#include "cli/short_run.h"
#include "cli/simulating.h"
#include "cli/tally.h"
#include "cli/text.h"
#include "policy/wire.h"
#include "simulated/settings/settings.h"
#include "trace/variables.h"

namespace tapelens::cli {
namespace {

// The optimizer's state is there from the second step on, and the recompute budget is decided after the first backward.
constexpr uint64_t kPlanSteps = 3;
constexpr std::chrono::minutes kPlanLimit{10};  // of each run

const char* const kGpu = "planned";  // Variation::gpu

struct RunOptions {
  ApplyingOptions applying;
  SimulatingOptions simulating;
  std::string fit;
  bool quiet = false;
};

uint64_t read_size(const std::string& text) {
  const auto bytes = parse_bytes(text);
  if (!bytes || *bytes == 0) throw CLI::ValidationError("--fit", "'" + text + "' is not a size, like 24GiB");
  return *bytes;
}

struct Planned {
  policy::Settings rewrites;  // off: the program fits as it is
  int exit_code = 0;          // not 0: nothing was found, and the user knows why
};

// The cheapest rewrites with which the command fits (--fit): runs its first steps several times. `gpu`: simulated, with
// `size` as its memory.
Planned plan_to_fit(uint64_t size, const std::optional<simulated::Settings>& gpu,
                    const std::vector<std::string>& command) {
  std::optional<TemporaryFolder> temporary;
  auto folder = folder_for_runs("", temporary);
  if (!folder) return {{}, fail(folder.error())};
  ExperimentRuns runs({.command = command,
                       .folder = std::move(*folder),
                       .steps = kPlanSteps,
                       .limit = kPlanLimit,
                       .inputs = files_in_command(command)});
  if (!runs.reason().empty()) return {{}, fail({runs.reason(), trace::ErrorKind::usage})};
  std::optional<simulated::Settings> small = gpu;
  if (small) small->bytes = size;
  if (const std::string why = runs.add_gpu(kGpu, small); !why.empty())
    return {{}, fail({why, trace::ErrorKind::usage})};
  const auto plan = plan::find(runs, {.size = plan::Bytes{static_cast<int64_t>(size)}, .gpu = kGpu});
  if (!plan) return {{}, fail(plan.error())};
  if (plan->stop == plan::Stop::interrupted) return {{}, 130};
  say(text::printable(plan::plan_text(*plan)));
  std::istringstream words(experiment::last_words_text(plan->tried.front(), ""));
  for (std::string line; plan->stop == plan::Stop::failed && std::getline(words, line);) say(text::printable(line));
  if (!plan->chosen) return {{}, plan->stop == plan::Stop::failed ? kCommandFailed : kNo};
  return {plan::settings_of(plan->tried[*plan->chosen].choice), 0};
}

int run(const RunOptions& options, const policy::Settings& applying, const std::optional<simulated::Settings>& gpu,
        const std::vector<std::string>& command) {
  const Simulation simulation(gpu, command);
  if (!simulation.reason().empty()) {  // the program would behave differently without its GPU
    say(simulation.reason());
    return kUsage;
  }
  const PreloadPath preload;
  if (!applying.on) {
    if (!preload.reason().empty()) say(preload.reason() + "; all values of the simulated GPU are zeros");
    const ChildEnd end = simulation.run(command, preload);
    signal(SIGPIPE, SIG_IGN);  // a closed standard error must not change the exit code
    if (!options.quiet) simulation.explain(end);
    return say_end(end);
  }
  const Rewriting rewriting(applying);
  if (const std::string reason = !preload.reason().empty() ? preload.reason() : rewriting.reason(); !reason.empty()) {
    say(reason + "; running the command unchanged");
    return say_end(simulation.on() ? simulation.run(command, preload) : become_command(command));
  }
  Environment environment = rewriting.environment();
  std::ranges::move(preload.environment(simulation.preloads()), std::back_inserter(environment));
  std::ranges::copy(simulation.environment(), std::back_inserter(environment));
  environment.emplace_back(TAPELENS_QUIET, options.quiet ? "1" : "");
  const ChildEnd end = run_command(command, environment);
  signal(SIGPIPE, SIG_IGN);  // a closed standard error must not change the exit code
  if (!end.started || options.quiet) return say_end(end);
  simulation.explain(end);
  const Tally tally = rewriting.tally();
  if (tally.processes > 0) {
    say(describe(tally));
  } else if (!tally.why_not) {
    say("nothing was rewritten: no process of this command ran an operator of a LibTorch that can be rewritten (static "
        "and setuid programs cannot be; see `tapelens doctor`)");
  } else if (!tally.why_not->was_said) {
    say("nothing was rewritten: " + tally.why_not->why);
  }
  return end.exit_code;
}

}  // namespace

Run declare_run(CLI::App& sub) {
  sub.footer(
      "Examples:\n"
      "  tapelens run --apply lossless -- python train.py\n"
      "  tapelens run --apply plan.json -- torchrun --nproc-per-node 2 ddp.py\n"
      "  tapelens run --apply bitwise --recompute-budget 2% -- ./trainer\n"
      "  tapelens run --fit 24GiB -- python train.py   with the rewrites that it needs for that\n"
      "  tapelens run --gpu H100 -- python train.py\n"
      "\n"
      "--fit runs the first three steps of the command up to eight times; files that they write stay. Then it runs the "
      "command with the cheapest rewrites that fit, and the same bits. With --gpu these short runs need no GPU. The "
      "exit code is 1 if no rewrites are enough.\n"
      "\n"
      "The exit code is the command's: 128+N if signal N ended it, 127 if it was not found, 126 if it cannot run. "
      "Results that tapelens verify proves equal with these options are equal here too.");
  const auto options = std::make_shared<RunOptions>();
  add_applying_options(sub, options->applying);
  sub.add_option("--fit", options->fit,
                 "Apply the cheapest rewrites with which the command needs at most this memory: reserved by a GPU, or "
                 "at the peak on the CPU")
      ->type_name("SIZE");
  add_simulating_options(sub, options->simulating);
  sub.add_flag("--quiet", options->quiet, "Print no closing line");
  return [&sub, options](const Words& command) {
    if (command.empty()) {
      throw CLI::ParseError("no command to run: tapelens run --apply lossless -- python train.py", kUsage);
    }
    policy::Settings applying = read_applying(sub, options->applying);
    const std::optional<simulated::Settings> gpu = read_simulating(sub, options->simulating);
    if (!options->fit.empty()) {
      if (applying.on) throw CLI::ValidationError("--fit", "chooses the rewrites: give no --apply and no --allow");
      const uint64_t size = read_size(options->fit);
      Planned planned = plan_to_fit(size, gpu, command);
      if (planned.exit_code != 0) return planned.exit_code;
      if (!planned.rewrites.on && !gpu) return say_end(become_command(command));
      applying = std::move(planned.rewrites);
    } else if (!applying.on && !gpu) {
      throw CLI::ValidationError("nothing to apply: tapelens run --apply lossless -- COMMAND");
    }
    return run(*options, applying, gpu, command);
  };
}

}  // namespace tapelens::cli
