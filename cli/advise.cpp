// tapelens advise: runs the checks over a recording and lists the changes to make, in the order to make them.
#include <algorithm>
#include <charconv>
#include <memory>

#include "analyzer/report/findings_text.h"
#include "analyzer/report/fixes.h"
#include "analyzer/report/formats.h"
#include "analyzer/text/escape.h"
#include "cli/applying.h"
#include "cli/checking.h"
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/patches.h"
#include "cli/text.h"
#include "plugins/builtin.h"

namespace tapelens::cli {
namespace {

struct AdviseCommand {
  std::string file, format = "text", device, color = "auto", min_bytes, fits, plan, patch, fail_on, finding, listed,
                    max_bytes;
  std::vector<std::string> checks, options, plugins;
  ApplyingOptions applying;
  std::optional<uint64_t> most_bytes;  // of --max-bytes
  OutputPlace output;
  int64_t process = 0, top = 0;
  bool top_given = false, verbose = false, all = false, strict = false;
};

std::vector<report::Rule> rules_of(const advise::Checks& checks) {
  std::vector<report::Rule> rules;
  for (const advise::Checks::Entry& entry : checks.entries()) {
    const check::CheckInfo info = entry.check->info();
    rules.push_back(
        {std::string(info.id), std::string(info.title), std::string(info.help), std::string(plugins::page(info.id))});
  }
  return rules;
}

// --finding as the number of an entry, or the entry with that finding's id. 0: not given; SIZE_MAX: no such entry.
size_t entry_of(const AdviseCommand& command, const advise::Advice& advice) {
  if (command.finding.empty()) return 0;
  size_t number = 0;
  const char* end = command.finding.data() + command.finding.size();
  const auto [rest, error] = std::from_chars(command.finding.data(), end, number);
  if (error == std::errc() && rest == end && number >= 1 && number <= advice.entries.size()) return number;
  const auto at = std::ranges::find(advice.findings, command.finding, &advise::Finding::id);
  if (at == advice.findings.end()) return SIZE_MAX;
  return report::entry_number(advice, static_cast<size_t>(at - advice.findings.begin()));
}

std::string rendered(const AdviseCommand& command, const report::Report& report, const advise::Checks& checks,
                     size_t entry) {
  report::Rendering how{style_of(command.output, command.color), rules_of(checks), report.advice->sources,
                        TAPELENS_VERSION};
  how.selection = {command.all, entry};
  how.style.rows = command.top_given ? static_cast<size_t>(command.top) : SIZE_MAX;
  return report::format_of(command.format)->advice(report, how);
}

// The number of findings of at least the severity of --fail-on.
int64_t grave(const advise::Advice& advice, const std::string& fail_on) {
  return std::ranges::count_if(advice.findings, [&](const advise::Finding& finding) {
    for (const auto least : {check::Severity::info, check::Severity::warning, check::Severity::error}) {
      if (fail_on == severity_name(least)) return finding.severity >= least;
    }
    return false;
  });
}

advise::AllocatorWanted allocator_of(const AdviseCommand& command) {
  if (command.fits.empty()) return {};
  return {model::Bytes{static_cast<int64_t>(*parse_bytes(command.fits))}};
}

int advise_command(const AdviseCommand& command, const report::Options& options, const advise::AdviceOptions& wanted,
                   advise::Checks& checks) {
  std::vector<std::string> inputs = files_in(command.applying);
  inputs.insert(inputs.end(), command.plugins.begin(), command.plugins.end());
  const trace::OutputOptions output =
      rendering(command.output, result_kind("advise", command.format), {command.file}, inputs);
  const trace::OutputOptions plan_output = also(output, "--write-plan", command.plan, plan_kind());
  const trace::OutputOptions patch_output = also(output, "--patch", command.patch, check::patch_kind());
  if (const int code = check_outputs({output, plan_output, patch_output})) return code;
  stay_within_memory();
  const auto run = run::Run::open(command.file);
  if (!run) return fail(run.error());
  const report::Advising advising{checks, wanted, progress_of_parts(), allocator_of(command)};
  auto built = report::build(*run, options, &advising);
  clear_progress_line();
  if (!built) return fail({command.file + ": " + built.error().message, built.error().kind});
  report::Report& report = *built;
  report.recording.file = text::shell_quote(command.file);
  say_refused(*report.advice);
  const size_t entry = entry_of(command, *report.advice);
  if (entry == SIZE_MAX) {
    const size_t entries = report.advice->entries.size();
    return fail({command.file + ": unknown finding " + command.finding +
                     (entries == 0 ? ": nothing was found" : ": the findings are 1 to " + std::to_string(entries)),
                 trace::ErrorKind::usage});
  }
  if (const int code = write_within(command.most_bytes, rendered(command, report, checks, entry), output)) return code;
  if (!command.plan.empty()) {
    if (const int code = write_output(report::plan(report), plan_output)) return code;
  }
  if (!command.patch.empty()) {
    const report::CombinedPatch patch = report::combined_patch(*report.advice);
    for (const std::string& left_out : patch.left_out) say(left_out);
    if (const int code = write_patch(patch.files, report.advice->sources.root, patch_output)) return code;
  }
  if (command.strict && !report.recording.complete) {
    say(command.file + ": data was lost: tapelens report lists the losses");
    return kDataLost;
  }
  if (const int64_t count = command.fail_on.empty() ? 0 : grave(*report.advice, command.fail_on)) {
    say(command.file + ": " + (count == 1 ? "1 finding is" : std::to_string(count) + " findings are") +
        " of severity " + command.fail_on + (command.fail_on == "error" ? "" : " or higher"));
    return kNo;
  }
  if (!command.fail_on.empty() && !report.recording.complete) {
    say(command.file + ": the recorded part has no finding of severity " + command.fail_on +
        ", but data was lost: tapelens report lists the losses");
    return kDataLost;
  }
  return kFine;
}

// Splits "CHECK.NAME=VALUE" for the advisor.
std::pair<std::string, std::string> option_of(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) {
    throw CLI::ValidationError("--option", "'" + text + "' is not CHECK.NAME=VALUE");
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

// --apply and --allow, for the advisor.
std::optional<advise::Applying> applied(const CLI::App& sub, const ApplyingOptions& options) {
  policy::RewriteSettings settings = read_applying(sub, options);
  if (!settings.on) return std::nullopt;
  advise::Applying made{std::move(settings), ""};
  for (const auto* words : {&options.apply, &options.allow}) {
    for (const std::string& word : *words) made.name += (made.name.empty() ? "" : " and ") + word;
  }
  return made;
}

}  // namespace

CommandFunction declare_advise(CLI::App& sub) {
  sub.footer(
      "Examples:\n"
      "  tapelens advise run.tapelens   the changes to make, in order\n"
      "  tapelens advise run.tapelens --finding 1   one entry, with its evidence\n"
      "  tapelens advise run.tapelens --all   everything, below 1 % of the peak too\n"
      "  tapelens advise run.tapelens --check unneeded-save --check trivial-concat\n"
      "  tapelens advise run.tapelens --min-bytes 1MiB   nothing smaller\n"
      "  tapelens advise run.tapelens --option trivial-concat.min-bytes=64KiB\n"
      "  tapelens advise run.tapelens --write-plan plan.json   the sites that a rewrite fixes, to edit\n"
      "  tapelens advise run.tapelens --patch fix.patch   for git apply\n"
      "  tapelens advise run.tapelens --apply plan.json   the predicted peak with a plan\n"
      "  tapelens advise run.tapelens --fits 24GiB   the changes that make the run fit a GPU\n"
      "  tapelens advise run.tapelens --format sarif -o run.sarif --fail-on warning   in CI\n"
      "  tapelens advise --list   all checks\n"
      "  tapelens advise --list trivial-concat   one check: its finding, its proof, its fix\n"
      "\n"
      "Shared libraries with further checks are loaded from the folders of TAPELENS_PLUGIN_PATH.\n"
      "\n"
      "Exit codes:\n"
      "  0   success\n"
      "  1   a finding has the severity of --fail-on or a higher one\n"
      "  2   wrong usage\n"
      "  3   the file cannot be read\n"
      "  4   data was lost, and --strict was given or no finding is that severe");
  const auto options = std::make_shared<AdviseCommand>();
  sub.add_option("FILE", options->file, "The recording")->type_name("");
  CLI::Option* list = sub.add_option("--list", options->listed, "List all checks, or explain one, and exit")
                          ->type_name("CHECK")
                          ->expected(0, 1);
  sub.add_option("--check", options->checks, "Run only this check; may be given more than once")->type_name("CHECK");
  sub.add_option("--min-bytes", options->min_bytes, "Omit findings smaller than this")->type_name("SIZE");
  CLI::Option* top = sub.add_option("--top", options->top, "List at most this many entries in text and Markdown")
                         ->type_name("N")
                         ->check(whole_number(0));
  CLI::Option* all =
      sub.add_flag("--all", options->all, "In text: show every finding with its evidence, also small ones");
  sub.add_option("--finding", options->finding, "In text: show only the entry with this number or id, and its evidence")
      ->type_name("N")
      ->excludes(all);
  add_format_option(sub, options->format, "Output format", &report::Format::advice);
  add_max_bytes_option(sub, options->max_bytes);
  add_output_option(sub, options->output);
  sub.add_option("--write-plan", options->plan, "Also write the findings that a rewrite fixes to a file")
      ->type_name("PATH");
  sub.add_option("--patch", options->patch, "Also write the patches of all findings to a file, as git apply takes them")
      ->type_name("PATH");
  add_choosing_options(sub, options->applying);
  sub.add_option("--plugin", options->plugins,
                 "Load further checks from this shared library; may be given more than once")
      ->type_name("PATH");
  sub.add_option("--option", options->options, "An option of a check; may be given more than once")
      ->type_name("CHECK.NAME=VALUE");
  sub.add_option("--fits", options->fits,
                 "Also list the changes with which the run fits in this much memory of a CUDA device")
      ->type_name("SIZE");
  CLI::Option* process = add_process_option(
      sub, options->process, "Select the process with this pid; by default the one with the device's peak");
  sub.add_option("--device", options->device,
                 "Select a device, like cpu; by default a GPU before the CPU, then the largest peak")
      ->type_name("NAME");
  with_choices(
      sub.add_option("--fail-on", options->fail_on, "Exit code 1 if a finding has this severity, or a higher one"),
      severity_names());
  add_color_option(sub, options->color);
  sub.add_flag("--verbose", options->verbose, "In text: the limits of a simulated or imported run in full");
  sub.add_flag("--strict", options->strict, "Exit code 4 if data was lost");
  for (const char* repeated : {"--check", "--plugin", "--option"}) repeatable(sub.get_option(repeated));
  return [options, &sub, list, process, top](const Words&) {
    if (list->count() > 0) {
      // An ID may also follow other options: --list --plugin PATH ID.
      return list_checks(options->listed.empty() ? options->file : options->listed, options->plugins, options->color);
    }
    if (options->file.empty()) throw CLI::RequiredError("FILE");
    options->top_given = top->count() > 0;
    options->most_bytes = read_max_bytes(options->max_bytes, options->format);
    advise::AdviceOptions wanted;
    wanted.checks = options->checks;
    if (!options->min_bytes.empty()) {
      const auto bytes = parse_bytes(options->min_bytes);
      if (!bytes) throw CLI::ValidationError("--min-bytes", "'" + options->min_bytes + "' is not a size, like 1MiB");
      wanted.min_bytes.value = static_cast<int64_t>(*bytes);
    }
    if (!options->fits.empty()) {
      const auto bytes = parse_bytes(options->fits);
      if (!bytes || *bytes == 0)
        throw CLI::ValidationError("--fits", "'" + options->fits + "' is not a size, like 24GiB");
    }
    for (const std::string& option : options->options) wanted.options.push_back(option_of(option));
    wanted.applying = applied(sub, options->applying);
    wanted.sources = check::source_trees(options->file);
    advise::Checks checks = all_checks(options->plugins);
    if (const auto valid = advise::valid(wanted, checks); !valid) {
      const auto meant = wanted.checks.empty() ? std::nullopt : nearest(wanted.checks.back(), ids(checks));
      throw CLI::ValidationError(valid.error().message +
                                 (meant && *meant != wanted.checks.back() ? "; did you mean '" + *meant + "'?" : ""));
    }
    report::Options chosen;
    chosen.top = 0;
    chosen.is_verbose = options->verbose;
    // The file of the program follows from the stacks of all findings, so none may be cut.
    if (report::format_of(options->format)->locates_by_stacks) chosen.top = std::nullopt;
    if (process->count() > 0) chosen.process = static_cast<uint32_t>(options->process);
    if (!options->device.empty()) chosen.device = options->device;
    return advise_command(*options, chosen, wanted, checks);
  };
}

}  // namespace tapelens::cli
