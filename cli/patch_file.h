// The patch that `tapelens advise --patch` writes.
#pragma once

#include <filesystem>
#include <string>

#include "analyzer/check/patch.h"

namespace tapelens::cli {

// Writes the edits of files below `root` as one diff: kFine, or kUnreadable after a line that says why. A file that
// Python could read before and not with its edits is left out, and a line says so; so does one where there is no Python
// to ask.
int write_patch(check::FileEdits files, const std::filesystem::path& root, const std::string& output);

}  // namespace tapelens::cli
