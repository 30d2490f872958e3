// tapelens check: compares a run with budgets and a baseline, for CI.
#include <algorithm>
#include <filesystem>
#include <memory>

#include "analyzer/compare/renderings.h"
#include "analyzer/compare/run_figures.h"
#include "cli/checking.h"
#include "cli/commands.h"
#include "cli/gate_settings.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/run_figures_file.h"
#include "cli/text.h"

namespace tapelens::cli {
namespace {

struct CheckCommand {
  std::string file, config, write_baseline, format = "text", color = "auto";
  OutputPlace output;
  GateSettings given;  // given on the command line
  int64_t top = 10;
};

constexpr const char* kTolerance = "1%";
constexpr const char* kFailOn = "warning";

CLI::ValidationError wrong(const std::string& why) { return CLI::ValidationError(why); }

// Options override the file; budgets of both apply.
GateSettings merged(const GateSettings& given, const GateSettings& file) {
  GateSettings out = file;
  out.budgets.insert(out.budgets.end(), given.budgets.begin(), given.budgets.end());
  if (!given.baseline.empty()) out.baseline = given.baseline;
  out.tolerance = !given.tolerance.empty() ? given.tolerance : file.tolerance.empty() ? kTolerance : file.tolerance;
  out.fail_on = !given.fail_on.empty() ? given.fail_on : file.fail_on.empty() ? kFailOn : file.fail_on;
  return out;
}

trace::Result<compare::Limits> limits_of(const GateSettings& settings) {
  compare::Limits out;
  for (const std::string& text : settings.budgets) {
    auto budget = compare::parse_budget(text);
    if (!budget) return budget.error();
    out.budgets.push_back(std::move(*budget));
  }
  const auto tolerance = parse_tolerance(settings.tolerance);
  if (!tolerance) {
    return trace::Error{"'" + settings.tolerance + "' is not a tolerance, like 1% or 0", trace::ErrorKind::usage};
  }
  out.tolerance = *tolerance;
  out.fail_on = std::nullopt;
  bool is_known = settings.fail_on == "none";
  for (const auto severity : {check::Severity::info, check::Severity::warning, check::Severity::error}) {
    if (settings.fail_on != severity_name(severity)) continue;
    out.fail_on = severity;
    is_known = true;
  }
  if (!is_known) {
    return trace::Error{"'" + settings.fail_on + "' is not a severity: none, info, warning, error",
                        trace::ErrorKind::usage};
  }
  return out;
}

std::string lists(const std::vector<std::string>& reasons) { return joined(reasons, "; "); }

// Writes a new baseline. It must be of a complete run: a baseline without all data would allow anything.
int write_baseline(const CheckCommand& command, const trace::OutputOptions& output, const compare::RunFigures& run,
                   const check::SourceTree& tree) {
  if (!run.incomplete.empty()) {
    say(command.file + ": is not complete, so no baseline is made of it: " + lists(run.incomplete));
    return kDataLost;
  }
  return write_output(compare::baseline_json(run, tree, TAPELENS_VERSION), output);
}

// The repository that contains the program's files; if none does, the first candidate.
check::SourceTree tree_of(const compare::RunFigures& run, const std::string& file) {
  const std::vector<check::SourceTree> trees = check::source_trees(file);
  for (const check::SourceTree& tree : trees) {
    for (const compare::SourceVersion& source : run.sources) {
      if (!check::in_repository(source.file, tree).empty()) return tree;
    }
  }
  return trees.front();
}

int check_command(const CheckCommand& command, const GateSettings& settings, const compare::Limits& limits) {
  std::vector<std::string> made_of = {command.file};
  if (!settings.baseline.empty()) made_of.push_back(settings.baseline);
  const trace::OutputOptions output =
      rendering(command.output, result_kind("check", command.format), made_of, {command.config, kSettingsFile});
  trace::OutputOptions baseline_output = also(output, "--write-baseline", command.write_baseline, baseline_kind());
  baseline_output.mode = trace::mode_of_made({command.file});
  if (const int code = check_outputs({output, baseline_output})) return code;
  stay_within_memory();
  advise::Checks checks = all_checks();
  const compare::FindText text_of = find_texts(command.file);
  auto run = read_run_figures(command.file, "this run", checks, text_of);
  if (!run) return fail(run.error());
  compare::Rendering how{style_of(command.output, command.color), {}, TAPELENS_VERSION};
  how.style.rows = static_cast<size_t>(command.top);
  how.tree = tree_of(*run, command.file);
  if (!command.write_baseline.empty()) {
    const int code = write_baseline(command, baseline_output, *run, how.tree);
    const bool is_all = settings.baseline.empty() && limits.budgets.empty();
    // An incomplete run still gets a verdict; the exit code stays, unless the verdict fails.
    if (is_all || (code != kFine && code != kDataLost)) return code;
  }
  std::optional<compare::Comparison> comparison;
  if (!settings.baseline.empty()) {
    auto baseline = read_run_figures(settings.baseline, "the baseline", checks, find_texts(settings.baseline));
    if (!baseline) return fail(baseline.error());
    auto made = compare::compare(std::move(*baseline), *run, find_texts(settings.baseline), text_of);
    if (!made) return fail({command.file + ": " + made.error().message, made.error().kind});
    comparison = std::move(*made);
  }
  const compare::GateResult verdict = compare::judge(*run, comparison ? &*comparison : nullptr, limits);
  const auto format = std::ranges::find(compare::kVerdictFormats, command.format, &compare::VerdictFormat::name);
  if (const int code = write_output(format->render(verdict, how), output)) return code;
  if (!verdict.passed()) return kNo;
  if (verdict.is_complete) return kFine;
  say(command.file + ": the recorded part did not regress, but a recording is not complete: see the report");
  return kDataLost;
}

std::vector<std::string> format_names() {
  std::vector<std::string> out;
  for (const compare::VerdictFormat& format : compare::kVerdictFormats) out.emplace_back(format.name);
  return out;
}

}  // namespace

CommandFunction declare_check(CLI::App& sub) {
  sub.footer(
      "Examples:\n"
      "  tapelens check run.tapelens --budget 'peak<=6GiB'   a budget\n"
      "  tapelens check main.tapelens --write-baseline memory.json   a baseline, to keep in git\n"
      "  tapelens check run.tapelens --baseline memory.json   the memory that this branch adds\n"
      "  tapelens check run.tapelens --baseline main.tapelens --tolerance 0\n"
      "  tapelens check run.tapelens --format markdown >> \"$GITHUB_STEP_SUMMARY\"\n"
      "\n"
      "A budget is METRIC[MODULE]@DEVICE<=SIZE. Module and device are optional: peak<=6GiB, peak[GPT.blocks.*]<=2GiB, "
      "saved@cuda:0<=3GiB, reserved<=7GiB, allocations<=5000 (in a step). With a baseline, check compares peak, saved "
      "and reserved, and looks for new findings. Simpler gates need no baseline: report --fail-above (the peak), "
      "advise --fail-on (any finding).\n"
      "\n"
      "Exit codes:\n"
      "  0   success\n"
      "  1   memory regressed, or exceeds a budget\n"
      "  2   wrong usage\n"
      "  3   a file cannot be read\n"
      "  4   nothing regressed, but a recording is incomplete\n"
      "  5   nothing to compare");
  const auto options = std::make_shared<CheckCommand>();
  sub.add_option("FILE", options->file, "The recording")->required()->type_name("");
  repeatable(
      sub.add_option("--budget", options->given.budgets, "A limit for the recording; may be given more than once")
          ->type_name("BUDGET"));
  sub.add_option("--baseline", options->given.baseline,
                 "The run to compare with: a recording, or a file of --write-baseline (.json)")
      ->type_name("FILE");
  sub.add_option("--tolerance", options->given.tolerance,
                 "Allowed increase over the baseline; by default 1%, because runs of one program differ by less")
      ->type_name("PERCENT");
  std::vector<std::string> severities = severity_names();
  severities.insert(severities.begin(), "none");
  with_choices(sub.add_option("--fail-on", options->given.fail_on,
                              "Fail on new findings of this severity or a higher one, if they raise the peak by more "
                              "than the tolerance; by default warning"),
               severities);
  sub.add_option("--config", options->config,
                 "Settings file; by default tapelens.toml in the current folder, if it exists")
      ->type_name("FILE");
  sub.add_option("--write-baseline", options->write_baseline, "Write the figures of this run to a file, for --baseline")
      ->type_name("FILE");
  add_format_option(
      sub, options->format,
      "Output for a person, a job's summary, a test report, code scanning, a program, or annotations of a pull request",
      format_names());
  add_output_option(sub, options->output);
  add_top_option(sub, options->top, "List at most this many groups in text and Markdown");
  add_color_option(sub, options->color);
  return [options](const Words&) {
    GateSettings from_file;
    std::error_code error;
    const bool is_there = std::filesystem::exists(kSettingsFile, error);
    if (const std::string file = options->config.empty() && is_there ? kSettingsFile : options->config; !file.empty()) {
      const auto read = read_settings(file);
      if (!read) {
        return fail(read.error());
      }
      from_file = *read;
    }
    const GateSettings settings = merged(options->given, from_file);
    const auto limits = limits_of(settings);
    if (!limits) throw wrong(limits.error().message);
    if (settings.baseline.empty() && limits->budgets.empty() && options->write_baseline.empty()) {
      throw wrong("there is nothing to compare the run with: give --budget, --baseline or a tapelens.toml");
    }
    return check_command(*options, settings, *limits);
  };
}

}  // namespace tapelens::cli
