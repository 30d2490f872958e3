// tapelens report: prints the content of a recording for people, programs or pull requests.
#include "analyzer/report/report.h"

#include <algorithm>
#include <memory>

#include "analyzer/report/sentences.h"
#include "analyzer/text/escape.h"
#include "analyzer/text/format.h"
#include "cli/checking.h"
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/text.h"

namespace tapelens::cli {
namespace {

struct ReportCommand {
  std::string file, format = "text", at = "peak", by = "field", device, color = "auto", fail_above, max_bytes;
  std::optional<uint64_t> most_bytes;  // of --max-bytes
  OutputPlace output;
  int64_t top = 0, process = 0, depth = 0;
  bool top_given = false, verbose = false, process_given = false, strict = false;
};

struct NamedPeak {
  std::string device;
  trace::Bytes bytes;
};

// The largest peak at any time, among the processes and devices that --process and --device select.
NamedPeak largest_peak(const report::Report& report) {
  NamedPeak largest;
  for (const report::ProcessFacts& process : report.processes) {
    if (report.options.process && *report.options.process != process.pid) continue;
    for (const report::DeviceFacts& device : process.devices) {
      if (report.options.device && *report.options.device != device.device) continue;
      if (device.peak > largest.bytes) largest = {device.device, device.peak};
    }
  }
  return largest;
}

int render(const ReportCommand& command, const trace::OutputOptions& output, report::Report& report) {
  report.recording.file = text::shell_quote(command.file);
  report::Rendering how{.style = style_of(command.output, command.color), .version = TAPELENS_VERSION};
  how.style.rows = report.options.top.value_or(SIZE_MAX);
  const std::string rendered = report::format_of(command.format)->report(report, how);
  return write_within(command.most_bytes, rendered, output);
}

int report_command(const ReportCommand& command, const report::Options& options, trace::Bytes limit) {
  const trace::OutputOptions output = rendering(command.output, result_kind("report", command.format), {command.file});
  if (const int code = check_outputs({output})) return code;
  stay_within_memory();
  const auto run = run::Run::open(command.file);
  if (!run) return fail(run.error());
  advise::Checks checks = all_checks();
  advise::AdviceOptions wanted;
  wanted.sources = check::source_trees(command.file);
  const report::Advising advising{checks, std::move(wanted), progress_of_parts()};
  auto built = report::build(*run, options, &advising);
  clear_progress_line();
  if (!built) return fail({command.file + ": " + built.error().message, built.error().kind});
  say_refused(*built->advice);
  if (const int code = render(command, output, *built)) return code;
  if (command.strict && !built->recording.complete) {
    say(command.file + ": data was lost: the report lists the losses");
    return kDataLost;
  }
  const NamedPeak largest = largest_peak(*built);
  if (!command.fail_above.empty() && largest.bytes > limit) {
    say(command.file + ": the peak on " + text::printable(largest.device) + ", " + text::bytes_text(largest.bytes) +
        ", is above " + text::bytes_text(limit));
    return kNo;
  }
  const bool is_measured = built->recording.complete && report::hidden_text(built->processes).empty();
  if (!command.fail_above.empty() && !is_measured) {
    say(command.file + ": the recorded part is not above " + text::bytes_text(limit) +
        ", but the recording is incomplete: the report lists the losses");
    return kDataLost;
  }
  return kFine;
}

}  // namespace

CommandFunction declare_report(CLI::App& sub) {
  sub.footer(
      "Examples:\n"
      "  tapelens report run.tapelens   the peak: its holders and their source lines\n"
      "  tapelens report run.tapelens --by source   the lines that made those bytes\n"
      "  tapelens report run.tapelens --by module --depth 2   each module at the peak of each phase\n"
      "  tapelens report run.tapelens --at step:2 --top 20   the peak of one training step\n"
      "  tapelens report run.tapelens --at 1.5s   the memory at a moment\n"
      "  tapelens report run.tapelens --device cuda:0 --at oom   the memory when the GPU was full\n"
      "  tapelens report run.tapelens --format json | jq '.peak.groups[0]'\n"
      "  tapelens report run.tapelens --format json --max-bytes 20000   for a language model\n"
      "  tapelens report run.tapelens --format html -o run.html   one page: curve, peak, findings\n"
      "  tapelens report run.tapelens --format markdown --fail-above 8GiB   in CI\n"
      "\n"
      "Exit codes:\n"
      "  0   success\n"
      "  1   the peak is above --fail-above\n"
      "  2   wrong usage\n"
      "  3   the file cannot be read\n"
      "  4   data was lost, and --strict was given or the rest is not above --fail-above");
  const auto options = std::make_shared<ReportCommand>();
  sub.add_option("FILE", options->file, "The recording")->required()->type_name("");
  add_format_option(sub, options->format, "Output for a person, a program, a pull request or a browser",
                    &report::Format::report);
  sub.add_option("--at", options->at,
                 "Select a moment: peak, step:N (the peak of a step), oom (the last request that found no memory, "
                 "oom:0 the first), 1.5s, 250ms, 1234ns")
      ->type_name("MOMENT")
      ->check([](const std::string& text) {
        return report::parse_at(text)
                   ? std::string()
                   : "'" + text + "' is not a moment: use peak, step:N, oom, oom:N, or a time like 1.5s";
      })
      ->capture_default_str();
  with_choices(sub.add_option("--by", options->by, "Group the bytes by this"),
               {std::begin(peak::kByNames), std::end(peak::kByNames)})
      ->capture_default_str();
  CLI::Option* depth =
      sub.add_option("--depth", options->depth,
                     "With --by module: add modules more than N levels below the outermost ones to their parent")
          ->type_name("N")
          ->check(whole_number(0, 1000));
  CLI::Option* top =
      sub.add_option("--top", options->top,
                     "List at most this many groups and allocations; by default 10, in HTML 4000, in JSON all")
          ->type_name("N")
          ->check(whole_number(0));
  add_max_bytes_option(sub, options->max_bytes);
  CLI::Option* process = add_process_option(
      sub, options->process, "Select the process with this pid; by default the one with the device's peak");
  sub.add_option("--device", options->device,
                 "Select a device, like cpu or cuda:0; by default a GPU before the CPU, then the largest peak")
      ->type_name("NAME");
  add_output_option(sub, options->output);
  add_color_option(sub, options->color);
  sub.add_flag("--verbose", options->verbose, "In text: the limits of a simulated or imported run in full");
  sub.add_flag("--strict", options->strict, "Exit code 4 if data was lost");
  sub.add_option("--fail-above", options->fail_above,
                 "Exit code 1 if the peak of a device is greater; budgets by module and a baseline: tapelens check")
      ->type_name("SIZE");
  return [options, depth, top, process](const Words&) {
    options->most_bytes = read_max_bytes(options->max_bytes, options->format);
    options->top_given = top->count() > 0;
    options->process_given = process->count() > 0;
    report::Options wanted;
    wanted.at = *report::parse_at(options->at);
    wanted.by = *peak::parse_by(options->by);
    if (depth->count() > 0) {
      if (wanted.by != peak::By::module) throw CLI::ValidationError("--depth", "needs --by module");
      wanted.depth = static_cast<unsigned>(options->depth);
    }
    const report::Format& format = *report::format_of(options->format);
    wanted.top = options->top_given ? static_cast<size_t>(options->top) : format.rows;
    wanted.keeps_equal = format.joins_equal;
    wanted.is_pictured = format.is_pictured;
    wanted.is_verbose = options->verbose;
    if (options->process_given) wanted.process = static_cast<uint32_t>(options->process);
    if (!options->device.empty()) wanted.device = options->device;
    trace::Bytes limit{};
    if (!options->fail_above.empty()) {
      const auto bytes = parse_bytes(options->fail_above);
      if (!bytes) throw CLI::ValidationError("--fail-above", "'" + options->fail_above + "' is not a size, like 8GiB");
      limit.value = static_cast<int64_t>(*bytes);
    }
    return report_command(*options, wanted, limit);
  };
}

}  // namespace tapelens::cli
