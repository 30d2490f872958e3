// tapelens run: runs a command with rewrites, without recording, for production. The exit code, output and signals are
// those of the bare command. If rewriting is impossible, the command runs unchanged, with one message.
#include <signal.h>

#include <algorithm>
#include <iterator>

#include "cli/applying.h"
#include "cli/child.h"
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/preload.h"
#include "cli/simulating.h"
#include "cli/tally.h"
#include "trace/variables.h"

namespace tapelens::cli {
namespace {

struct RunOptions {
  ApplyingOptions applying;
  SimulatingOptions simulating;
  bool quiet = false;
};

int run(const RunOptions& options, const rewrites::Settings& applying, const std::optional<simulated::Settings>& gpu,
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

void add_run(CLI::App& app, int& exit_code, const std::vector<std::string>& command) {
  CLI::App* sub =
      app.add_subcommand("run", "Run a training program with rewrites, or on a simulated GPU, without recording it");
  sub->footer(
      "Examples:\n"
      "  tapelens run --apply lossless -- python train.py\n"
      "  tapelens run --plan plan.json -- torchrun --nproc-per-node 2 ddp.py\n"
      "  tapelens run --apply bitwise --recompute-budget 2% -- ./trainer\n"
      "  tapelens run --simulate-gpu H100 -- python train.py\n\n"
      "The exit code is the command's: 128+N if signal N ended it, 127 if it was not found, 126 if it cannot run.\n"
      "Results that tapelens verify proves equal with these options are equal here too. More: docs/record.md");
  const auto options = std::make_shared<RunOptions>();
  add_applying_options(*sub, options->applying);
  add_simulating_options(*sub, options->simulating);
  sub->add_flag("--quiet", options->quiet, "No closing line");
  sub->callback([sub, options, &exit_code, &command] {
    if (command.empty()) {
      throw CLI::ParseError("no command to run: tapelens run --apply lossless -- python train.py", kUsage);
    }
    const rewrites::Settings applying = read_applying(*sub, options->applying);
    const std::optional<simulated::Settings> gpu = read_simulating(*sub, options->simulating);
    if (!applying.on && !gpu) {
      throw CLI::ValidationError("nothing to apply: tapelens run --apply lossless -- COMMAND");
    }
    exit_code = run(*options, applying, gpu, command);
  });
}

}  // namespace tapelens::cli
