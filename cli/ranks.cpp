// tapelens ranks: compares the recordings of a run's ranks.
#include <algorithm>
#include <memory>

#include "analyzer/ranks/files.h"
#include "analyzer/ranks/renderings.h"
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/text.h"
#include "plugins/builtin.h"

namespace tapelens::cli {
namespace {

struct RanksCommand {
  std::vector<std::string> files;
  std::string device, format = "text", color = "auto";
  OutputPlace output;
  int64_t top = 10;
  bool findings = false, strict = false;
};

int ranks_command(const RanksCommand& command) {
  stay_within_memory();
  const auto files = ranks::files_of(command.files);
  if (!files) return fail(files.error());
  const trace::OutputOptions output = rendering(command.output, result_kind("ranks", command.format), *files);
  if (const int code = check_outputs({output})) return code;
  ranks::ReadOptions reading{.version = TAPELENS_VERSION, .checks = {}, .progress = {}};
  if (command.findings) reading.checks = plugins::builtin_checks;
  if (const auto tell = progress_of_parts()) {
    reading.progress = [tell](double share) {
      tell("reading", share);
      return true;
    };
  }
  std::vector<ranks::RankFile> sources = ranks::read_all(*files, reading);
  clear_progress_line();
  const auto job = ranks::merge(std::move(sources), {.device = command.device}, TAPELENS_VERSION);
  if (!job) return fail(job.error());
  text::Style style = style_of(command.output, command.color);
  style.rows = static_cast<size_t>(command.top);
  const auto format = std::ranges::find(ranks::kFormats, command.format, &ranks::Format::name);
  if (const int code = write_output(format->render(*job, style), output)) return code;
  const bool is_whole = job->left_out.empty() && job->missing_count == 0 && job->incomplete == 0;
  if (!command.strict || is_whole) return kFine;
  say("some ranks are missing, omitted or incomplete: the output names them");
  return kDataLost;
}

}  // namespace

CommandFunction declare_ranks(CLI::App& sub) {
  sub.footer(
      "Examples:\n"
      "  tapelens ranks runs/   all *.tapelens in a folder and below\n"
      "  tapelens ranks node0.tapelens node1.tapelens   two hosts, each with several ranks\n"
      "  tapelens ranks runs/ --top 50   longer lists\n"
      "  tapelens ranks runs/ --format json | jq '.outliers'\n"
      "\n"
      "To record each rank into its own file:\n"
      "  torchrun --nproc-per-node 8 --no-python \\\n"
      "    tapelens record -o runs/%h-%r.tapelens -- python train.py\n"
      "\n"
      "Exit codes:\n"
      "  0   success\n"
      "  2   wrong usage\n"
      "  3   no file can be read\n"
      "  4   with --strict: a rank is missing, lost data, or its file cannot be read");
  const auto options = std::make_shared<RanksCommand>();
  sub.add_option("FILES", options->files, "Recordings, or folders of them")->required()->type_name("");
  sub.add_option("--device", options->device,
                 "Compare this type of device, like cuda or cpu; by default a GPU before the CPU")
      ->type_name("TYPE");
  sub.add_flag("--findings", options->findings,
               "Run the checks on recordings whose summary has no findings; takes as long as tapelens advise");
  std::vector<std::string> names;
  for (const ranks::Format& format : ranks::kFormats) names.emplace_back(format.name);
  add_format_option(sub, options->format, "Output for a person, a pull request or a program", names);
  add_output_option(sub, options->output);
  add_top_option(sub, options->top, "List at most this many rows of each kind in text and Markdown");
  add_color_option(sub, options->color);
  sub.add_flag("--strict", options->strict, "Exit code 4 if a rank is missing, lost data or cannot be read");
  return [options](const Words&) { return ranks_command(*options); };
}

}  // namespace tapelens::cli
