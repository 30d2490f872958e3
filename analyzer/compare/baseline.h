// A snapshot as a file to keep beside the program. Its content is sorted, with one item a line, so that changes are
// readable in a diff.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/check/sources.h"
#include "analyzer/compare/snapshot.h"

namespace tapelens::compare {

// Paths of files are relative to the repository.
std::string baseline_json(const Snapshot& snapshot, const check::SourceTree& tree, std::string_view version);

// The error says what is wrong, without the file's name.
trace::Result<Snapshot> read_baseline(std::string_view json);

}  // namespace tapelens::compare
