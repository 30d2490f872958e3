#include "cli/run_figures_file.h"

#include "analyzer/compare/run_figures.h"
#include "cli/messages.h"
#include "trace/regular_file.h"

namespace tapelens::cli {

namespace {

constexpr uint64_t kMostSnapshotBytes = 256 << 20;  // size limit of a baseline

}  // namespace

trace::Result<compare::RunFigures> read_run_figures(const std::string& file, const std::string& label,
                                                    advise::Checks& checks, const compare::FindText& text_of) {
  trace::Result<compare::RunFigures> made = compare::RunFigures{};
  if (file.ends_with(".json")) {
    const auto text = trace::read_regular_file(file, kMostSnapshotBytes);
    if (!text) return trace::Error{file + ": cannot be read: " + text.error().message, text.error().kind};
    made = compare::read_baseline(*text);
  } else {
    const auto run = run::Run::open(file);
    if (!run) return run.error();
    made = compare::figures_of_run(*run, &checks, {}, text_of, progress_of_parts());
    clear_progress_line();
  }
  if (!made) return trace::Error{file + ": " + made.error().message, made.error().kind};
  made->label = label;
  made->file = file;
  return made;
}

}  // namespace tapelens::cli
