#include "cli/kept_run.h"

#include <fcntl.h>
#include <unistd.h>

#include "cli/open_file.h"
#include "cli/output.h"
#include "cli/output_kinds.h"
#include "cli/sealing.h"
#include "cli/spool_folder.h"

namespace tapelens::cli {
namespace {

trace::OutputOptions recording_of(const KeptRun& run) {
  trace::OutputOptions options = recording_output({run.recording, run.is_forced}, "0600", false, run.inputs);
  options.takes_streams = false;
  options.option = "--keep";
  options.unfinished = {};  // commands that run other commands handle signals themselves
  return options;
}

trace::OutputOptions log_of(const KeptRun& run) {
  trace::OutputOptions options = recording_of(run);
  options.path = run.log;
  options.kind = log_kind(run.log, run.recording);
  return options;
}

}  // namespace

trace::Status KeptRun::check() const {
  if (auto may = trace::Output::check(recording_of(*this)); !may || log.empty()) return may;
  return trace::Output::check(log_of(*this));
}

trace::Result<trace::SealSummary> KeptRun::seal(const trace::SealOptions& options) const {
  if (spools_in(options.directory).empty()) return trace::SealSummary{};
  return seal_into(recording_of(*this), options, {}, /*has_summary=*/false);
}

void KeptRun::note(const trace::SealSummary& sealed) const {
  if (!sealed.processes.empty() || log.empty()) return;
  const OpenFile file(log, O_WRONLY | O_APPEND);
  if (file.descriptor() >= 0 && write(file.descriptor(), kNoRecording.data(), kNoRecording.size()) < 0) return;
}

}  // namespace tapelens::cli
