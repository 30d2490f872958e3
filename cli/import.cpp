// tapelens import: makes a recording of what another tool wrote: a memory snapshot of PyTorch.
#include "analyzer/snapshot/import.h"

#include "analyzer/report/escape.h"
#include "cli/commands.h"
#include "cli/memory.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/summarizing.h"
#include "cli/text.h"

namespace tapelens::cli {
namespace {

struct ImportCommand {
  std::string input, output, mode = "0600";
  bool strict = false;
};

int import_file(const ImportCommand& command) {
  stay_within_memory();
  snapshot::ImportOptions options;
  options.input = command.input;
  options.output = command.output;
  options.mode = *parse_mode(command.mode);
  options.summarize = summarize_apart;
  if (auto parts = progress_of_parts())
    options.progress = [parts](double fraction) { parts("reading the snapshot", fraction); };
  const trace::Result<trace::SealSummary> imported = snapshot::import_snapshot(options);
  clear_progress_line();
  if (!imported) return fail(imported.error());
  say(describe(*imported, command.output, 0) + ". Next: tapelens report " + report::shell_quote(command.output));
  return command.strict && lost_data(*imported) ? kDataLost : kFine;
}

}  // namespace

void add_import(CLI::App& app, int& exit_code) {
  CLI::App* sub = app.add_subcommand("import", "Make a recording of a memory snapshot of PyTorch");
  sub->footer(
      "Examples:\n"
      "  tapelens import snapshot.pickle -o snapshot.tapelens\n"
      "  tapelens report snapshot.tapelens --by source     the lines that held the peak\n"
      "  tapelens view snapshot.tapelens                   curve, segments and peak in a window\n\n"
      "The file is what torch.cuda.memory._dump_snapshot() writes. It is read as data: nothing in it is executed. It\n"
      "holds blocks, segments and stacks; operators, autograd nodes, saves and modules are not in it, and what the\n"
      "recording has of them is nothing. More: docs/import.md");
  const auto options = std::make_shared<ImportCommand>();
  sub->add_option("SNAPSHOT", options->input, "What torch.cuda.memory._dump_snapshot() wrote")
      ->required()
      ->type_name("");
  sub->add_option("-o,--output", options->output, "The recording to write")->required()->type_name("FILE");
  add_mode_option(*sub, options->mode);
  sub->add_flag("--strict", options->strict, "Exit code 4 if the snapshot's history is not whole");
  sub->callback([options, &exit_code] { exit_code = import_file(*options); });
}

}  // namespace tapelens::cli
