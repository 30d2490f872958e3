// tapelens fit: runs a command with several sizes on simulated GPUs, and reports the sizes that fit.
#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "analyzer/fit/fit_json.h"
#include "analyzer/fit/fit_text.h"
#include "analyzer/fit/sizes.h"
#include "analyzer/plan/plan.h"
#include "analyzer/text/escape.h"
#include "cli/applying.h"
#include "cli/commands.h"
#include "cli/experiment_runs.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/scoped_files.h"
#include "cli/short_run.h"
#include "cli/simulating.h"
#include "cli/text.h"

namespace tapelens::cli {
namespace {

struct FitOptions {
  std::vector<std::string> gpus;
  std::string vary, placeholder = "{}", steps = "3", limit = "10m", format = "text", keep;
  OutputPlace output;
  bool every = false, verbose = false, lists_gpus = false;
  SimulatingOptions simulating;
  ApplyingOptions applying;
};

// The rewrites of a further search on each GPU, with their name in the result.
using Applied = std::pair<std::string, policy::RewriteSettings>;

// "lossless", "plan.json and shared-save"
std::string what_is_applied(const ApplyingOptions& options) {
  std::vector<std::string> words = options.apply;
  words.insert(words.end(), options.allow.begin(), options.allow.end());
  return joined(words, " and ");
}

// "auto": the rewrites that cost no time, and all that `tapelens run --fit` may choose. With --host-memory also those
// that offload: the user has said that there is memory for it.
std::vector<Applied> read_applied(const CLI::App& sub, const ApplyingOptions& options) {
  if (std::ranges::count(options.apply, fit::kAuto) == 0) {
    policy::RewriteSettings applying = read_applying(sub, options);
    if (!applying.on) return {};
    return {{what_is_applied(options), std::move(applying)}};
  }
  if (options.apply.size() + options.allow.size() > 1 || !options.budget.empty()) {
    throw CLI::ValidationError("--apply", "auto chooses the rewrites: give no other, and no --recompute-budget");
  }
  const auto with = [&](const plan::Choice& choice) {
    ApplyingOptions one = options;
    one.apply = {choice.level};
    policy::RewriteSettings applying = read_applying(sub, one);
    const policy::RewriteSettings chosen = plan::settings_of(choice);
    applying.budget = chosen.budget;
    applying.allowed = chosen.allowed;
    return applying;
  };
  std::vector<Applied> all = {{plan::cheap().level, with(plan::cheap())}, {fit::kAuto, with(plan::least())}};
  if (all.front().second.host_memory.value_or(0) > 0)
    all.emplace_back(fit::kAutoOffload, with(plan::least_with_host()));
  return all;
}

std::vector<uint64_t> read_sizes(const FitOptions& options, const std::vector<std::string>& command) {
  if (options.placeholder.empty()) throw CLI::ValidationError("--placeholder", "'' stands nowhere");
  const bool has_place = std::ranges::any_of(
      command, [&](const std::string& word) { return word.find(options.placeholder) != std::string::npos; });
  if (options.vary.empty()) {
    if (options.every) throw CLI::ValidationError("--all", "nothing varies without --vary");
    const bool is_forgotten =
        std::ranges::any_of(command, [](const std::string& word) { return word == "{}" || word.ends_with("={}"); });
    if (is_forgotten) {
      throw CLI::ValidationError("--vary", "is missing: the command has a {}, and nothing says what goes there");
    }
    return {0};
  }
  const auto sizes = fit::parse_sizes(options.vary);
  if (!sizes) throw CLI::ValidationError("--vary", sizes.error().message);
  if (!has_place) {
    throw CLI::ValidationError("--vary", "no argument of the command has " + options.placeholder +
                                             " in place of the size: python train.py --batch-size {}");
  }
  return *sizes;
}

int exit_code_of(const fit::Fit& found) {
  if (found.was_interrupted) return 130;
  bool any_fits = false, any_known = false;
  for (const fit::Series& series : found.series) {
    any_fits |= fit::largest(series) != nullptr;
    any_known |= fit::largest(series) != nullptr || fit::too_large(series) != nullptr;
  }
  return any_fits ? kFine : any_known ? kNo : kCommandFailed;
}

int fit_command(const FitOptions& options, ExperimentRuns::Common common, fit::SearchSpace wanted,
                const std::vector<simulated::GpuSettings>& gpus) {
  const trace::OutputOptions output = rendering(options.output, result_kind("fit", options.format), {}, common.inputs);
  if (const int code = check_outputs({output})) return code;
  std::optional<TemporaryFolder> temporary;
  auto folder = folder_for_runs(options.keep, temporary);
  if (!folder) return fail(folder.error());
  common.folder = std::move(*folder);
  common.is_kept = !options.keep.empty();
  fit::Fit found;
  {
    const std::string command = text::shell_quote(common.command);
    const uint64_t steps = common.steps;
    ExperimentRuns runs(std::move(common));
    if (!runs.reason().empty()) return fail({runs.reason(), trace::ErrorKind::usage});
    for (size_t i = 0; i < gpus.size(); ++i) {
      const std::string why = runs.add_gpu(options.gpus[i], gpus[i]);
      if (!why.empty()) return fail({why, trace::ErrorKind::usage});
    }
    auto result = fit::find(runs, wanted);
    if (!result) return fail(result.error());
    found = std::move(*result);
    found.command = command;
    found.steps = steps;
  }
  const std::string text = options.format == "json" ? fit_json(found) : text::printable_lines(fit_text(found));
  if (const int code = write_output(text, output)) return code;
  return exit_code_of(found);
}

}  // namespace

CommandFunction declare_fit(CLI::App& sub) {
  sub.footer(
      "Examples:\n"
      "  tapelens fit --gpu A100-40GB -- python train.py   does it fit?\n"
      "  tapelens fit --gpu A100-40GB --vary 1..256 -- python train.py --batch-size {}\n"
      "  tapelens fit --gpu H100,L4,T4 --vary 8..512:8 -- python train.py batch={}\n"
      "  tapelens fit --gpu H100 --vary 512,2048 --all -- python train.py --context {}\n"
      "  tapelens fit --gpu L4 --vary 1..64 --apply lossless -- python train.py -b {}\n"
      "  tapelens fit --gpu L4 --vary 1..64 --apply auto -- python train.py -b {}   with tapelens run --fit\n"
      "  tapelens fit --gpu L4x8 --vary 1..9 -- torchrun --nproc-per-node 8 train.py {}\n"
      "  tapelens fit --list-gpus   the GPUs that can be simulated\n"
      "\n"
      "Each size is one run on a simulated GPU (tapelens run --gpu). The run is killed after --steps; files that the "
      "program writes before stay. PyTorch's own allocator manages the memory; a size fits if no request fails for "
      "lack of memory.\n"
      "\n"
      "Exit codes:\n"
      "  0   a size fits\n"
      "  1   no size fits\n"
      "  2   wrong usage\n"
      "  3   a file cannot be read or written\n"
      "  6   the command failed in every run");
  const auto options = std::make_shared<FitOptions>();
  repeatable(
      sub.add_option(
             "--gpu", options->gpus,
             "The GPUs to simulate, a list: GPUs of --list-gpus, with their memory and the number of GPUs (H100, "
             "H100:24GiB, H100x8)")
          ->type_name("GPU")
          ->delimiter(','));
  sub.add_flag("--list-gpus", options->lists_gpus, "List the GPUs that can be simulated, and exit");
  sub.add_option("--vary", options->vary,
                 "The sizes: 1..256, 8..512:8 (multiples of 8), 8,16,32. Without it the command runs unchanged")
      ->type_name("SIZES");
  sub.add_option("--placeholder", options->placeholder, "The text in the command that each size replaces")
      ->type_name("TEXT")
      ->capture_default_str();
  sub.add_flag("--all", options->every, "Run every size, not only those that the search needs");
  sub.add_option("--steps", options->steps, "End each run after N optimizer steps; all: do not end it")
      ->type_name("N|all")
      ->capture_default_str();
  sub.add_option("--limit", options->limit, "Time limit of each run: 120s, 10m")
      ->type_name("TIME")
      ->capture_default_str();
  add_simulation_details(sub, options->simulating);
  add_choosing_options(sub, options->applying);
  CLI::Option* apply = sub.get_option("--apply");
  apply->type_name("{" + std::string(fit::kAuto) + "," + apply->get_type_name().substr(1));
  add_format_option(sub, options->format, "Output for a person or a program", {"text", "json"});
  add_output_option(sub, options->output);
  sub.add_option("--keep", options->keep, "Keep the recordings and the output of all runs in this folder")
      ->type_name("DIR");
  sub.add_flag("--verbose", options->verbose, "Show the output of the command on standard error");
  return [&sub, options](const Words& command) {
    if (options->lists_gpus) return list_gpus();
    if (options->gpus.empty()) throw CLI::RequiredError("--gpu");
    if (command.empty()) {
      throw CLI::ParseError("no command to run: tapelens fit --gpu A100-40GB -- python train.py", kUsage);
    }
    const std::vector<Applied> applied = read_applied(sub, options->applying);
    fit::SearchSpace wanted;
    wanted.sizes = read_sizes(*options, command);
    wanted.every = options->every;
    std::vector<simulated::GpuSettings> gpus;
    for (const std::string& gpu : options->gpus) {
      if (std::ranges::count(options->gpus, gpu) > 1) {
        throw CLI::ValidationError("--gpu", "'" + gpu + "' was given more than once");
      }
      SimulatingOptions one = options->simulating;
      one.gpu = gpu;
      gpus.push_back(settings_of(one));
      wanted.settings.push_back({gpu, gpus.back().name, trace::Bytes{static_cast<int64_t>(gpus.back().bytes)}, ""});
    }
    for (size_t i = gpus.size(); i-- > 0;) {
      const fit::Setting bare = wanted.settings[i];
      auto at = wanted.settings.begin() + static_cast<std::ptrdiff_t>(i);
      for (const auto& [name, rewrites] : applied) {
        fit::Setting rewritten = bare;
        rewritten.apply = name;
        rewritten.rewrites = rewrites;
        at = wanted.settings.insert(at + 1, std::move(rewritten));
      }
    }
    ExperimentRuns::Common common{.command = command,
                                  .placeholder = options->placeholder,
                                  // Optimizers allocate their state at the end of the first step, so only later steps
                                  // have it at their peak.
                                  .steps = read_steps(options->steps, 2),
                                  .limit = read_limit(options->limit),
                                  .is_shown = options->verbose,
                                  .needs_gpu = true};
    common.is_forced = options->output.is_forced;
    common.inputs = files_in_command(command);
    std::ranges::move(files_in(options->applying), std::back_inserter(common.inputs));
    return fit_command(*options, std::move(common), std::move(wanted), gpus);
  };
}

}  // namespace tapelens::cli
