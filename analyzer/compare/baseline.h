// A snapshot as a file to keep beside the program: sorted, one line for what a person looks at as one thing, so that
// a change of it can be read in a diff.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/check/sources.h"
#include "analyzer/compare/snapshot.h"

namespace tapelens::compare {

// Files are named as the repository names them.
std::string baseline_json(const Snapshot& snapshot, const check::SourceTree& tree, std::string_view version);

// An error says what is wrong, without the file's name.
trace::Result<Snapshot> read_baseline(std::string_view json);

}  // namespace tapelens::compare
