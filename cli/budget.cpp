// tapelens budget: runs a program that uses torch.compile with several activation memory budgets, and reports the peak
// and the step time of each.
#include <memory>
#include <optional>

#include "analyzer/compile_budget/renderings.h"
#include "analyzer/text/escape.h"
#include "cli/commands.h"
#include "cli/experiment_runs.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/short_run.h"

namespace tapelens::cli {
namespace {

struct BudgetOptions {
  std::string budgets = compile_budget::kDefaultBudgets, steps = "5", limit = "10m", format = "text", color = "auto",
              keep;
  OutputPlace output;
  bool verbose = false;
  SimulatingOptions simulating;
};

int exit_code_of(const compile_budget::Sweep& found) {
  switch (found.stop) {
    case compile_budget::Stop::interrupted:
      return 130;
    case compile_budget::Stop::first_failed:
      return kCommandFailed;
    case compile_budget::Stop::nothing_compiled:
    case compile_budget::Stop::set_by_program:
    case compile_budget::Stop::cannot_be_set:
      return kNo;
    case compile_budget::Stop::none:
      break;
  }
  if (compile_budget::base(found) == nullptr) return kCommandFailed;
  return compile_budget::knee(found) != nullptr ? kFine : kNo;
}

int budget_command(const BudgetOptions& options, ExperimentRuns::Common common,
                   const std::optional<simulated::GpuSettings>& gpu, const std::vector<double>& budgets) {
  const trace::OutputOptions output =
      rendering(options.output, result_kind("budget", options.format), {}, common.inputs);
  if (const int code = check_outputs({output})) return code;
  std::optional<TemporaryFolder> temporary;
  auto folder = folder_for_runs(options.keep, temporary);
  if (!folder) return fail(folder.error());
  common.folder = std::move(*folder);
  compile_budget::Sweep found;
  {
    const std::string command = text::shell_quote(common.command);
    const uint64_t steps = common.steps;
    ExperimentRuns runs(std::move(common));
    for (const std::string& why : {runs.reason(), runs.add_gpu("", gpu)}) {
      if (!why.empty()) return fail({why, trace::ErrorKind::usage});
    }
    auto result = compile_budget::sweep(runs, budgets);
    if (!result) return fail(result.error());
    found = std::move(*result);
    found.command = command;
    found.steps = steps;
  }
  const std::string text =
      options.format == "json" ? budget_json(found) : budget_text(found, style_of(options.output, options.color));
  if (const int code = write_output(text, output)) return code;
  return exit_code_of(found);
}

}  // namespace

CommandFunction declare_budget(CLI::App& sub) {
  sub.footer(
      "Examples:\n"
      "  tapelens budget -- python train.py\n"
      "  tapelens budget --budgets 0.7,0.5,0.3 --steps 10 -- python train.py\n"
      "  tapelens budget --gpu H100 -- python train.py   the peak on a simulated GPU\n"
      "  tapelens budget --keep runs -- python train.py   then: tapelens diff runs/budget-{1,0.4}.tapelens\n"
      "\n"
      "Each budget is one recorded run, with torch._functorch.config.activation_memory_budget set from outside. The "
      "run is killed after --steps; files that the program writes before stay. A budget that the program sets has "
      "precedence, and the report names it. Compiled graphs are cached in a temporary folder.\n"
      "\n"
      "Exit codes:\n"
      "  0   a budget lowers the peak\n"
      "  1   no budget lowers the peak, or no compiled graph was seen\n"
      "  2   wrong usage\n"
      "  3   a file cannot be read or written\n"
      "  6   the command failed");
  const auto options = std::make_shared<BudgetOptions>();
  sub.add_option("--budgets", options->budgets, "The budgets to run, a list of numbers from 0 to 1; 1 is always run")
      ->type_name("LIST")
      ->capture_default_str();
  sub.add_option("--steps", options->steps,
                 "End each run after N optimizer steps, of which the first compiles; all: do not end it")
      ->type_name("N|all")
      ->capture_default_str();
  sub.add_option("--limit", options->limit, "Time limit of each run: 120s, 10m")
      ->type_name("TIME")
      ->capture_default_str();
  add_simulating_options(sub, options->simulating);
  add_format_option(sub, options->format, "Output for a person or a program", {"text", "json"});
  add_output_option(sub, options->output);
  add_color_option(sub, options->color);
  sub.add_option("--keep", options->keep, "Keep the recordings and the output of all runs in this folder")
      ->type_name("DIR");
  sub.add_flag("--verbose", options->verbose, "Show the output of the command on standard error");
  return [&sub, options](const Words& command) {
    if (command.empty()) {
      throw CLI::ParseError("no command to run: tapelens budget -- python train.py", kUsage);
    }
    const auto budgets = compile_budget::parse_budgets(options->budgets);
    if (!budgets) throw CLI::ValidationError("--budgets", budgets.error().message);
    const ExperimentRuns::Common common{.command = command,
                                        // The first step compiles.
                                        .steps = read_steps(options->steps, 2),
                                        .limit = read_limit(options->limit),
                                        .is_kept = !options->keep.empty(),
                                        .is_forced = options->output.is_forced,
                                        .inputs = files_in_command(command),
                                        .is_shown = options->verbose};
    return budget_command(*options, common, read_simulating(sub, options->simulating), *budgets);
  };
}

}  // namespace tapelens::cli
