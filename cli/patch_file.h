// The patch that `tapelens advise --patch` writes.
#pragma once

#include <filesystem>
#include <string>

#include "analyzer/check/patch.h"
#include "trace/output.h"

namespace tapelens::cli {

// Writes the edits of files below `root` as one diff. Leaves out a file that Python can parse before but not after its
// edits, with a message; another message says if no Python could check the files. Returns an exit code; prints why if
// it is not kFine.
int write_patch(check::FileEdits files, const std::filesystem::path& root, const trace::OutputOptions& output);

}  // namespace tapelens::cli
