// tapelens seal: recovers the recording from spools after `tapelens record` was killed too.
#include "trace/seal.h"

#include <sys/stat.h>

#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/sealing.h"
#include "cli/spool_folder.h"
#include "cli/text.h"

namespace tapelens::cli {
namespace {

struct SealCommand {
  std::string folder, mode = "0600";
  OutputPlace output;
  bool remove = false, strict = false, is_mode_given = false;
};

int seal(const SealCommand& options) {
  struct stat status {};
  if (stat(options.folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    return fail({options.folder + ": no such folder. It is named after the recording: run.tapelens.spool"});
  }
  std::vector<std::string> spools = spools_in(options.folder);
  if (spools.empty()) return fail({options.folder + ": holds no spools"});
  const trace::OutputOptions output =
      recording_output(options.output, options.mode, options.is_mode_given, std::move(spools));
  if (const int code = check_recording_output(output)) return code;
  stay_within_memory();
  trace::SealOptions sealing;
  sealing.directory = options.folder;
  sealing.progress = progress_line();
  const std::vector<uint32_t> living = living_processes(options.folder);
  sealing.running = living;
  const trace::Result<trace::SealSummary> sealed = seal_into(output, sealing, {});
  clear_progress_line();
  if (!sealed) return fail(sealed.error());
  if (sealed->processes.empty()) {
    return fail({options.folder + ": no process ran an operator; there is nothing to seal",
                 trace::ErrorKind::nothing_recorded});
  }
  std::string line = describe(*sealed, options.output.path, living.size());
  if (!living.empty()) {
    line += "; pid " + std::to_string(living.front()) + " still writes its spool" +
            (options.remove ? ", so the spools are kept" : "");
  } else if (options.remove) {
    remove_sealed_spools(options.folder);
  }
  say(line + next_of(options.output));
  return options.strict && lost_data(*sealed) ? kDataLost : kFine;
}

}  // namespace

CommandFunction declare_seal(CLI::App& sub) {
  sub.footer(
      "Examples:\n"
      "  tapelens seal run.tapelens.spool -o run.tapelens\n"
      "  tapelens seal --remove run.tapelens.spool -o run.tapelens\n"
      "\n"
      "tapelens record seals its recordings itself. Use this command if it was killed together with its command, or "
      "after --keep-spool. Blocks that a crash damaged are left out; the report counts them.");
  const auto options = std::make_shared<SealCommand>();
  sub.add_option("DIR", options->folder, "The folder of spools")->required()->type_name("");
  add_recording_output_option(sub, options->output)->required();
  add_mode_option(sub, options->mode);
  sub.add_flag("--remove", options->remove, "Remove the spools once they are sealed");
  sub.add_flag("--strict", options->strict, "Exit code 4 if data was lost");
  return [&sub, options](const Words&) {
    options->is_mode_given = sub.count("--mode") > 0;
    return seal(*options);
  };
}

}  // namespace tapelens::cli
