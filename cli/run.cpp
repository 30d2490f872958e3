// tapelens run: runs a command with rewrites, without recording, for production. The exit code, output and signals are
// those of the bare command. If rewriting is impossible, the command runs unchanged, with one message.
#include <signal.h>

#include <algorithm>
#include <iterator>

#include "analyzer/plan/plan_json.h"
#include "analyzer/text/escape.h"
#include "cli/applying.h"
#include "cli/child.h"
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "cli/preload.h"
#include "cli/simulating.h"
#include "cli/tally.h"
#include "cli/text.h"
#include "trace/variables.h"

namespace tapelens::cli {
namespace {

struct RunOptions {
  ApplyingOptions applying;
  SimulatingOptions simulating;
  std::string fit;
  OutputPlace plan;  // of --write-plan
  bool quiet = false, replans = false, keeps_no_plan = false, plans_on_device = false;
};

// Writes the plan instead of running the command with it.
int write_plan(const RunOptions& options, const Planned& planned, const std::vector<std::string>& command) {
  const int code = write_output(plan::plan_json(planned.plan, text::shell_quote(command), planned.gpu),
                                rendering(options.plan, plan_kind(), {}, files_in_command(command)));
  if (code == kFine && !options.plan.is_standard()) {
    say("wrote " + options.plan.path + ". Next: tapelens run --apply " + text::shell_quote(options.plan.path) + " -- " +
        text::shell_quote(command));
  }
  return code;
}

int run(const RunOptions& options, const policy::RewriteSettings& applying,
        const std::optional<simulated::GpuSettings>& gpu, const std::vector<std::string>& command) {
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
  const TallySums tally = rewriting.tally();
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

CommandFunction declare_run(CLI::App& sub) {
  sub.footer(
      "Examples:\n"
      "  tapelens run --apply lossless -- python train.py\n"
      "  tapelens run --apply plan.json -- torchrun --nproc-per-node 2 ddp.py\n"
      "  tapelens run --apply bitwise --recompute-budget 2% -- ./trainer\n"
      "  tapelens run --fit 24GiB -- python train.py   with the rewrites that it needs for that\n"
      "  tapelens run --fit gpu -- python train.py     in the memory of this machine's GPU\n"
      "  tapelens run --fit 24GiB --gpu A10G --write-plan plan.json -- python train.py\n"
      "  tapelens run --gpu H100 -- python train.py\n"
      "\n"
      "--fit tries at most seven choices of rewrites, by runs of the first three steps; files that they write stay. "
      "Then it runs the command with the cheapest rewrites that fit, and the same bits. The short runs are on a "
      "simulated GPU: that of --gpu, or one like this machine's. The exit code is 1 if no rewrites are enough.\n"
      "\n"
      "The exit code is the command's: 128+N if signal N ended it, 127 if it was not found, 126 if it cannot run. "
      "Results that tapelens verify proves equal with these options are equal here too.");
  const auto options = std::make_shared<RunOptions>();
  add_applying_options(sub, options->applying);
  add_fit_option(sub, options->fit);
  CLI::Option* plan =
      sub.add_option("--write-plan", options->plan.path,
                     "With --fit: write the plan to a file, for --apply, instead of running the command")
          ->type_name("PATH");
  CLI::Option* replan = sub.add_flag("--replan", options->replans, "With --fit: make a new plan, and keep it");
  CLI::Option* no_cache =
      sub.add_flag("--no-cache", options->keeps_no_plan, "With --fit: neither use nor keep a plan of an earlier run");
  add_simulating_options(sub, options->simulating);
  CLI::Option* on_device = sub.add_flag("--plan-on-device", options->plans_on_device,
                                        "With --fit: plan by runs on this machine's GPU, even if it can be simulated");
  on_device->excludes(sub.get_option("--gpu"));
  for (CLI::Option* option : {plan, replan, no_cache, on_device}) option->needs(sub.get_option("--fit"));
  add_force_option(sub, options->plan.is_forced);
  sub.add_flag("--quiet", options->quiet, "Print no closing line");
  return [&sub, options, plan](const Words& command) {
    if (command.empty()) {
      throw CLI::ParseError("no command to run: tapelens run --apply lossless -- python train.py", kUsage);
    }
    policy::RewriteSettings applying = read_applying(sub, options->applying);
    const std::optional<simulated::GpuSettings> gpu = read_simulating(sub, options->simulating);
    if (!options->fit.empty()) {
      if (applying.on) throw CLI::ValidationError("--fit", "chooses the rewrites: give no --apply and no --allow");
      const uint64_t size = size_to_fit(options->fit, gpu);
      if (plan->count() > 0) {
        const int code = check_outputs({rendering(options->plan, plan_kind(), {}, files_in_command(command))});
        if (code != kFine) return code;
      }
      // --write-plan needs the figures of the runs.
      const bool is_new = options->replans || plan->count() > 0;
      const KeptPlans kept = options->keeps_no_plan ? KeptPlans::ignore : is_new ? KeptPlans::replace : KeptPlans::use;
      Planned planned = plan_to_fit({.size = size,
                                     .host_memory = applying.host_memory,
                                     .gpu = gpu,
                                     .gpu_text = options->simulating.gpu,
                                     .command = command,
                                     .may_simulate = !options->plans_on_device},
                                    kept);
      if (planned.exit_code != 0) return planned.exit_code;
      if (plan->count() > 0) return write_plan(*options, planned, command);
      if (!planned.rewrites.on && !gpu) return say_end(become_command(command));
      applying = std::move(planned.rewrites);
    } else if (!applying.on && !gpu) {
      throw CLI::ValidationError("nothing to apply: tapelens run --apply lossless -- COMMAND");
    }
    return run(*options, applying, gpu, command);
  };
}

}  // namespace tapelens::cli
