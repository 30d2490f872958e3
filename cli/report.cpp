// tapelens report: prints the content of a recording for people, programs or pull requests.
#include "analyzer/report/report.h"

#include <algorithm>
#include <memory>

#include "analyzer/report/escape.h"
#include "analyzer/report/format.h"
#include "analyzer/report/losses.h"
#include "cli/checking.h"
#include "cli/commands.h"
#include "cli/memory.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/output_kinds.h"
#include "cli/text.h"
#include "trace/recording.h"

namespace tapelens::cli {
namespace {

struct ReportCommand {
  std::string file, format = "text", at = "peak", by = "field", device, color = "auto", fail_above;
  OutputPlace output;
  int64_t top = 0, process = 0, depth = 0;
  bool top_given = false, process_given = false, strict = false;
};

// The largest peak at any time, among the processes and devices that --process and --device select.
trace::Bytes largest_peak(const report::Report& report) {
  trace::Bytes largest{};
  for (const report::ProcessFacts& process : report.processes) {
    if (report.options.process && *report.options.process != process.pid) continue;
    for (const report::Device& device : process.devices) {
      if (report.options.device && *report.options.device != device.device) continue;
      largest = std::max(largest, device.peak);
    }
  }
  return largest;
}

int render(const ReportCommand& command, const trace::OutputOptions& output, report::Report& report) {
  report.recording.file = report::shell_quote(command.file);
  report::Rendering how{.style = style_of(command.output, command.color), .version = TAPELENS_VERSION};
  how.style.rows = report.options.top.value_or(SIZE_MAX);
  return write_output(report::format_of(command.format)->report(report, how), output);
}

int report_command(const ReportCommand& command, const report::Options& options, trace::Bytes limit) {
  const trace::OutputOptions output = rendering(command.output, result_kind("report", command.format), {command.file});
  if (const int code = check_outputs({output})) return code;
  stay_within_memory();
  const auto recording = trace::Recording::open(command.file);
  if (!recording) return fail(recording.error());
  advise::Checks checks = all_checks();
  advise::Wanted wanted;
  wanted.sources = check::source_trees(command.file);
  const report::Advising advising{checks, std::move(wanted), progress_of_parts()};
  auto built = report::build(*recording, options, &advising);
  clear_progress_line();
  if (!built) return fail({command.file + ": " + built.error().message, built.error().kind});
  say_refused(*built->advice);
  if (const int code = render(command, output, *built)) return code;
  if (command.strict && !built->recording.complete) {
    say(command.file + ": data was lost: see what the report says is not complete");
    return kDataLost;
  }
  if (!command.fail_above.empty() && largest_peak(*built) > limit) {
    say(command.file + ": the peak, " + report::bytes_text(largest_peak(*built)) + ", is above " +
        report::bytes_text(limit));
    return kNo;
  }
  const bool is_measured = built->recording.complete && report::hidden_text(built->processes).empty();
  if (!command.fail_above.empty() && !is_measured) {
    say(command.file + ": the recorded part is not above " + report::bytes_text(limit) +
        ", but not all was recorded: see what the report says is missing");
    return kDataLost;
  }
  return kFine;
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
  CLI::App* sub = app.add_subcommand("report", "Report the memory at the peak, and its holders");
  sub->footer(
      "Examples:\n"
      "  tapelens report run.tapelens                        the peak: its holders and their source lines\n"
      "  tapelens report run.tapelens --by source            the lines that made those bytes\n"
      "  tapelens report run.tapelens --by module --depth 2  what each module holds, at the peak of each phase\n"
      "  tapelens report run.tapelens --at step:2 --top 20   the peak of one training step\n"
      "  tapelens report run.tapelens --at 1.5s              what was alive at a moment\n"
      "  tapelens report run.tapelens --device cuda:0 --at oom    what was alive when the GPU was full\n"
      "  tapelens report run.tapelens --format json | jq '.peak.groups[0]'\n"
      "  tapelens report run.tapelens --format html -o run.html    one page: curve, peak, findings\n"
      "  tapelens report run.tapelens --format markdown --fail-above 8GiB    in CI\n\n"
      "Exit codes: 0 fine, 1 the peak is above --fail-above, 2 wrong usage, 3 the file cannot be read,\n"
      "4 data was lost, and --strict was given or the rest is not above --fail-above. More: docs/report.md");
  const auto options = std::make_shared<ReportCommand>();
  sub->add_option("FILE", options->file, "The recording")->required()->type_name("");
  add_format_option(*sub, options->format, "For a person, a program, a pull request or a browser",
                    &report::Format::report);
  sub->add_option(
         "--at", options->at,
         "The moment to look at: peak, step:N (the peak of a step), oom (the last request that found no memory, "
         "oom:0 the first), 1.5s, 250ms, 1234ns")
      ->type_name("MOMENT")
      ->check([](const std::string& text) {
        return report::parse_at(text) ? std::string()
                                      : "'" + text + "' is no moment: peak, step:N, oom, oom:N, or a time like 1.5s";
      })
      ->capture_default_str();
  sub->add_option("--by", options->by, "Group the bytes by this")
      ->check(one_of({"field", "node", "module", "source", "operator", "category", "step", "stack"}))
      ->type_name("{field,node,module,source,operator,category,step}")
      ->capture_default_str();
  CLI::Option* depth =
      sub->add_option("--depth", options->depth,
                      "With --by module: sum modules that are more than N levels below the outermost ones in those "
                      "around them")
          ->type_name("N")
          ->check(CLI::Range(int64_t{0}, int64_t{1000}));
  CLI::Option* top =
      sub->add_option(
             "--top", options->top,
             "How many groups and allocations to list: 10, in HTML 4000, and all of them in JSON, if not given")
          ->type_name("N")
          ->check(CLI::NonNegativeNumber);
  CLI::Option* process =
      sub->add_option("--process", options->process, "A process by its pid; the one with the largest peak if not given")
          ->type_name("PID")
          ->check(CLI::Range(int64_t{1}, int64_t{UINT32_MAX}));
  sub->add_option("--device", options->device,
                  "A device, like cpu or cuda:0; the one with the largest peak if not given")
      ->type_name("NAME");
  add_output_option(*sub, options->output);
  add_color_option(*sub, options->color);
  sub->add_flag("--strict", options->strict, "Exit code 4 if data was lost");
  sub->add_option("--fail-above", options->fail_above,
                  "Exit code 1 if the peak is greater; budgets by module and a baseline: tapelens check")
      ->type_name("SIZE");
  sub->callback([options, depth, top, process, &exit_code] {
    options->top_given = top->count() > 0;
    options->process_given = process->count() > 0;
    report::Options wanted;
    wanted.at = *report::parse_at(options->at);
    wanted.by = *peak::parse_by(options->by);
    if (depth->count() > 0) {
      if (wanted.by != peak::By::module)
        throw CLI::ValidationError("--depth", "is how deep modules are listed: it goes with --by module");
      wanted.depth = static_cast<unsigned>(options->depth);
    }
    const report::Format& format = *report::format_of(options->format);
    wanted.top = options->top_given ? static_cast<size_t>(options->top) : format.rows;
    wanted.is_pictured = format.is_pictured;
    if (options->process_given) wanted.process = static_cast<uint32_t>(options->process);
    if (!options->device.empty()) wanted.device = options->device;
    trace::Bytes limit{};
    if (!options->fail_above.empty()) {
      const auto bytes = parse_bytes(options->fail_above);
      if (!bytes) throw CLI::ValidationError("--fail-above", "'" + options->fail_above + "' is not a size, like 8GiB");
      limit.value = static_cast<int64_t>(*bytes);
    }
    exit_code = report_command(*options, wanted, limit);
  });
}

}  // namespace tapelens::cli
