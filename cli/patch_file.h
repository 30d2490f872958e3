// The patch that `tapelens advise --patch` writes.
#pragma once

#include <filesystem>
#include <string>

#include "analyzer/check/patch.h"
#include "trace/output.h"

namespace tapelens::cli {

// Writes the edits of files below `root` as one diff: an exit code, with a line that says why if it is not kFine. A
// file that Python could read before and not with its edits is left out, and a line says so; so does one where there is
// no Python to ask.
int write_patch(check::FileEdits files, const std::filesystem::path& root, const trace::OutputOptions& output);

}  // namespace tapelens::cli
