// tapelens import: makes a recording of another tool's file: a memory snapshot of PyTorch.
#include "analyzer/snapshot/import.h"

#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/sealing.h"
#include "cli/text.h"

namespace tapelens::cli {
namespace {

struct ImportCommand {
  std::string input, mode = "0600";
  OutputPlace output;
  bool strict = false, is_mode_given = false;
};

int import_file(const ImportCommand& command) {
  const trace::OutputOptions output =
      recording_output(command.output, command.mode, command.is_mode_given, {command.input});
  if (const int code = check_recording_output(output)) return code;
  stay_within_memory();
  auto file = trace::Output::open(output);
  if (!file) return fail(file.error());
  snapshot::ImportOptions options;
  options.input = command.input;
  options.output = file->unfinished_path();
  options.name = file->name();
  options.mode = output.mode;
  options.summarize = summarize_apart;
  if (auto parts = progress_of_parts())
    options.progress = [parts](double fraction) { parts("reading the snapshot", fraction); };
  const trace::Result<trace::SealSummary> imported = snapshot::import_snapshot(options);
  clear_progress_line();
  if (!imported) return fail(imported.error());
  if (const auto finished = file->finish(); !finished) return fail(finished.error());
  say(describe(*imported, command.output.path, 0) + next_of(command.output));
  return command.strict && lost_data(*imported) ? kDataLost : kFine;
}

}  // namespace

CommandFunction declare_import(CLI::App& sub) {
  sub.footer(
      "Examples:\n"
      "  tapelens import snapshot.pickle -o snapshot.tapelens\n"
      "  tapelens report snapshot.tapelens --by source   the lines that held the peak\n"
      "  tapelens view snapshot.tapelens   curve, segments and peak in a window\n"
      "\n"
      "torch.cuda.memory._dump_snapshot() writes the file. Tapelens reads it as data and executes nothing in it. A "
      "snapshot has blocks, segments and stacks, but no operators, autograd nodes, saves and modules. The recording "
      "lacks them too.");
  const auto options = std::make_shared<ImportCommand>();
  sub.add_option("SNAPSHOT", options->input, "A file of torch.cuda.memory._dump_snapshot()")->required()->type_name("");
  add_recording_output_option(sub, options->output)->required();
  add_mode_option(sub, options->mode);
  sub.add_flag("--strict", options->strict, "Exit code 4 if the snapshot's history is not whole");
  return [&sub, options](const Words&) {
    options->is_mode_given = sub.count("--mode") > 0;
    return import_file(*options);
  };
}

}  // namespace tapelens::cli
