#include "cli/verify_runs.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "analyzer/text/escape.h"
#include "cli/applying.h"
#include "cli/child.h"
#include "cli/echo.h"
#include "cli/explanation.h"
#include "cli/messages.h"
#include "cli/preload.h"
#include "cli/scoped_files.h"
#include "cli/short_run.h"
#include "cli/spool_folder.h"
#include "trace/recording_options.h"
#include "trace/seal.h"

namespace tapelens::cli {
namespace {

namespace fs = std::filesystem;
using trace::Error;
using trace::ErrorKind;
using trace::Result;

// The file of the only process that wrote gradients; empty if none did, or several.
std::string only_file(const std::string& folder) {
  std::string found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".values") continue;
    if (!found.empty()) return {};
    found = entry.path().string();
  }
  return found;
}

// Makes paths absolute and resolves links.
void make_real(std::vector<std::string>& files, const fs::path& folder) {
  for (std::string& file : files) {
    std::error_code error;
    if (const fs::path real = fs::weakly_canonical(folder / file, error); !error) file = real.string();
  }
}

// Replaces paths of the patched copy in its output by those of the original program.
void name_originals(const std::string& file, const PatchedCopy& patched) {
  std::ifstream from(file, std::ios::binary);
  const std::string renamed = file + ".part";
  std::ofstream to(renamed, std::ios::binary);
  for (std::string line; std::getline(from, line);) {
    for (size_t at = 0; (at = line.find(patched.copy(), at)) != std::string::npos; at += patched.root().size()) {
      line.replace(at, patched.copy().size(), patched.root());
    }
    to << line;
    if (!from.eof()) to << '\n';
  }
  to.close();
  std::error_code error;
  if (to) fs::rename(renamed, file, error);
}

}  // namespace

void CommandRuns::tell(const std::string& line) { say(line); }

std::string CommandRuns::last_words(const std::string& name) const {
  const std::string words = end_of_file(path(name, ".log"));
  return words.empty() ? end_of_file(path(name, ".out")) : words;
}

Result<verify::ProgramRun> CommandRuns::run(const policy::RewriteSettings& rewrites, const RunOptions& wanted) {
  const PreloadPath preload;
  const Rewriting rewriting(rewrites);
  const std::string recording = path(wanted.name, ".tapelens");
  const SpoolFolder spools = make_spool_folder(recording, {}, /*discard=*/true);
  for (const std::string& reason : {preload.reason(), rewriting.reason(), spools.reason}) {
    if (!reason.empty()) return Error{reason};
  }
  const std::string log = path(wanted.name, ".log");
  const KeptRun kept{recording, wanted.is_shown ? "" : log, setting_.is_forced, setting_.inputs};
  if (const auto may = kept.check(); !may) {
    remove_spool_folder(spools.path);
    return may.error();
  }
  const std::string values = wanted.values ? path(wanted.name, "") : "";
  if (std::error_code error; wanted.values && !fs::create_directories(values, error) && error) {
    return Error{values + ": " + error.message()};
  }
  Environment environment = rewriting.environment();
  std::ranges::move(preload.environment(), std::back_inserter(environment));
  trace::RecordingOptions options{
      .spool = spools.path, .checksums = true, .values = values, .float64 = wanted.float64, .quiet = !wanted.is_shown};
  if (setting_.steps) options.steps = trace::StepWindow{0, *setting_.steps};
  std::ranges::move(trace::environment_of(options), std::back_inserter(environment));
  environment.emplace_back("PYTHONHASHSEED", "0");
  const PatchedCopy* patched = wanted.patched ? setting_.patched : nullptr;
  if (patched != nullptr) std::ranges::move(patched->environment(), std::back_inserter(environment));
  // Standard input is empty, so that no run consumes the input of another.
  const OpenFile nothing("/dev/null", O_RDWR);
  Streams streams{nothing.descriptor(), -1, -1};
  const OpenFile written(wanted.is_shown ? "/dev/null" : log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
  if (wanted.is_shown) {
    if (setting_.output_to_error) streams.output = STDERR_FILENO;
  } else {
    if (written.descriptor() < 0) return Error{log + ": " + std::strerror(errno)};
    streams.output = streams.error = written.descriptor();
  }
  // With a patch, the output may be the only thing to compare, so each run writes it to its own file.
  const std::string output = setting_.patched != nullptr ? path(wanted.name, ".out") : "";
  const OpenFile printed(output.empty() ? "/dev/null" : output, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
  if (!output.empty()) {
    if (printed.descriptor() < 0) return Error{output + ": " + std::strerror(errno)};
    streams.output = printed.descriptor();
  }
  const int shown = setting_.output_to_error ? STDERR_FILENO : STDOUT_FILENO;
  Echo echo(output, !output.empty() && wanted.is_shown ? shown : -1);
  const std::string folder = patched != nullptr ? patched->folder() : "";
  const ChildEnd end =
      run_command(patched != nullptr ? patched->command() : setting_.command, environment, streams, folder);
  echo.finish();
  signal(SIGPIPE, SIG_IGN);  // a closed reader must not end the comparison
  if (!end.started) {
    remove_spool_folder(spools.path);
    return Error{end.error, ErrorKind::command_failed};
  }
  trace::SealOptions sealing;
  sealing.directory = spools.path;
  sealing.command = text::shell_quote(setting_.command);
  const std::optional<Explanation> not_recorded = read_explanation(spools.path);
  const auto sealed = kept.seal(sealing);
  remove_spool_folder(spools.path);
  if (!sealed) return sealed.error();
  if (setting_.is_kept) kept.note(*sealed);
  verify::ProgramRun run;
  if (!sealed->processes.empty()) {
    auto read = verify::read_run(recording);
    if (!read) return read.error();
    run = std::move(*read);
    run.is_cut = setting_.steps.has_value();
    std::error_code error;
    make_real(run.files, patched != nullptr ? fs::path(folder) : fs::current_path(error));
    run.incomplete |= lacks_events(*sealed);
    if (wanted.values) run.values = only_file(values);
  }
  run.figures.exit_code = end.exit_code;
  if (not_recorded) run.why_not_recorded = not_recorded->why;
  if (const TallySums tally = rewriting.tally(); tally.why_not) run.why_not_rewritten = tally.why_not->why;
  run.output = output;
  if (patched != nullptr) name_originals(output, *patched);
  return run;
}

}  // namespace tapelens::cli
