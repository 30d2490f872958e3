// tapelens verify: runs a command bare and rewritten, and compares every loss, gradient and parameter.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>

#include "analyzer/check/sources.h"
#include "analyzer/text/escape.h"
#include "analyzer/text/format.h"
#include "analyzer/verify/verdict.h"
#include "analyzer/verify/verdict_text.h"
#include "cli/applying.h"
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "cli/scoped_files.h"
#include "cli/verify_runs.h"

namespace tapelens::cli {
namespace {

namespace fs = std::filesystem;

struct VerifyOptions {
  ApplyingOptions applying;
  int64_t steps = 0;
  std::string format = "text", keep, patch, fit;
  uint64_t bytes_to_fit = 0;
  OutputPlace output;
};

int exit_code_of(verify::Answer answer) {
  if (answer == verify::Answer::identical) return kFine;
  return answer == verify::Answer::different ? kNo : kNothingCompared;
}

int verify_command(const VerifyOptions& options, CommandRuns::Setting setting,
                   const policy::RewriteSettings& applying) {
  std::vector<std::string> inputs = files_in_command(setting.command);
  std::ranges::move(files_in(options.applying), std::back_inserter(inputs));
  inputs.push_back(options.patch);
  const trace::OutputOptions output = rendering(options.output, result_kind("verify", options.format), {}, inputs);
  if (const int code = check_outputs({output})) return code;
  std::optional<TemporaryFolder> temporary;
  if (options.keep.empty()) {
    temporary.emplace();
    if (!*temporary) return fail({temporary->reason()});
    setting.folder = temporary->path();
  } else {
    std::error_code error;
    fs::create_directories(options.keep, error);
    if (error) return fail({options.keep + ": " + error.message()});
    setting.folder = fs::absolute(options.keep, error).string();
    setting.is_kept = true;
    setting.is_forced = options.output.is_forced;
    setting.inputs = inputs;
  }
  std::unique_ptr<PatchedCopy> patched;
  if (!options.patch.empty()) {
    std::error_code error;
    const fs::path here = fs::current_path(error);
    auto made = PatchedCopy::make(options.patch, check::source_tree_at(here).root, here, setting.command);
    if (!made) return fail(made.error());
    patched = std::move(*made);
    setting.patched = patched.get();
  }
  CommandRuns runs(std::move(setting));
  const auto verdict = patched ? verify::verify_patch(runs, patched->files()) : verify::verify(runs, applying);
  if (!verdict) return fail(verdict.error());
  const std::string text =
      options.format == "json"
          ? verdict_json(*verdict)
          : text::printable_lines(verdict_text(*verdict, runs.last_words(patched ? "patched" : "rewritten")));
  if (const int code = write_output(text, output)) return code;
  const int code = exit_code_of(verdict->answer());
  if (code != kFine || options.fit.empty()) return code;
  const model::Bytes size{static_cast<int64_t>(options.bytes_to_fit)}, peak = verdict->rewritten.peak;
  say("the peak of the whole run, " + text::bytes_text(peak) + ", is " + (peak <= size ? "within " : "larger than ") +
      text::bytes_text(size));
  return peak <= size ? kFine : kNo;
}

}  // namespace

CommandFunction declare_verify(CLI::App& sub) {
  sub.footer(
      "Examples:\n"
      "  tapelens verify --apply lossless -- python train.py --epochs 1\n"
      "  tapelens verify --apply plan.json --steps 3 -- python train.py\n"
      "  tapelens verify --apply bitwise --poison --format json -- ./trainer\n"
      "  tapelens verify --fit 24GiB -- python train.py   the rewrites of tapelens run --fit, and the peak\n"
      "  tapelens verify --patch fix.patch -- python train.py   a patch of tapelens advise, or your own\n"
      "\n"
      "The command must be deterministic: seed it. It runs with PYTHONHASHSEED=0 and without standard input. Its first "
      "run writes its usual output; with --format json and without -o, to standard error. If the runs differ, the "
      "command runs again, bare, and then until the site is found. With --patch the second run uses a patched copy of "
      "the current folder's repository. Your files do not change.\n"
      "\n"
      "Exit codes:\n"
      "  0   identical\n"
      "  1   different, or larger than --fit\n"
      "  2   wrong usage\n"
      "  3   nothing was recorded\n"
      "  4   a recording is incomplete\n"
      "  5   no verdict: nothing was rewritten or compared, or two bare runs differ\n"
      "  6   the command failed");
  const auto options = std::make_shared<VerifyOptions>();
  add_applying_options(sub, options->applying);
  CLI::Option* steps =
      sub.add_option("--steps", options->steps, "Compare only the first N steps; the command still runs to its end")
          ->type_name("N")
          ->check(whole_number(1));
  add_format_option(sub, options->format, "Output for a person or a program", {"text", "json"});
  add_output_option(sub, options->output);
  CLI::Option* patch =
      sub.add_option("--patch", options->patch, "Compare with the patched program, instead of rewrites")
          ->type_name("PATH");
  add_fit_option(sub, options->fit);
  for (const char* other : {"--apply", "--allow", "--fit"}) patch->excludes(sub.get_option(other));
  sub.add_option("--keep", options->keep, "Keep the recordings and the output of the later runs in this folder")
      ->type_name("DIR");
  return [&sub, steps, options](const Words& command) {
    if (command.empty()) {
      throw CLI::ParseError("no command to verify: tapelens verify --apply lossless -- python train.py", kUsage);
    }
    policy::RewriteSettings applying = read_applying(sub, options->applying);
    if (!options->fit.empty()) {
      if (applying.on) throw CLI::ValidationError("--fit", "chooses the rewrites: give no --apply and no --allow");
      options->bytes_to_fit = size_to_fit(options->fit, {});
      Planned planned = plan_to_fit(
          {.size = options->bytes_to_fit, .host_memory = applying.host_memory, .gpu_text = "", .command = command},
          KeptPlans::ignore);
      if (planned.exit_code != 0) return planned.exit_code;
      if (!planned.rewrites.on) {
        say("nothing to verify: the command needs no rewrites, and its whole run was not measured");
        return int{kNothingCompared};
      }
      applying = std::move(planned.rewrites);
    }
    if (!applying.on && options->patch.empty()) {
      throw CLI::ValidationError("nothing to verify: tapelens verify --apply lossless -- COMMAND");
    }
    CommandRuns::Setting setting;
    setting.command = command;
    if (steps->count() > 0) setting.steps = static_cast<uint64_t>(options->steps);
    setting.output_to_error = options->format == "json" && options->output.is_standard();
    return verify_command(*options, setting, applying);
  };
}

}  // namespace tapelens::cli
