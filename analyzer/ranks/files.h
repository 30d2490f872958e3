// Finds the files of a run's ranks, and reads each.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/ranks/job.h"

namespace tapelens::ranks {

// Keeps files, and replaces a folder with the recordings in it and below, by name. An error names the first path that
// is neither.
trace::Result<std::vector<std::string>> files_of(const std::vector<std::string>& given);

// Whether the summary of a file says that the file is from one rank of several.
bool is_of_a_rank(const std::string& file);

// Receives the share that is read, from 0 to 1. Called from several threads, one at a time. Returns false to cancel.
using Progress = std::function<bool(double)>;

struct ReadOptions {
  std::string_view version;  // version of this Tapelens
  // Makes the checks that compute findings if a file's summary lacks them; empty: no findings are computed.
  std::function<advise::Checks()> checks;
  Progress progress;  // may be empty
};
// In the order of the files, on as many threads as cores. A file with a summary is read by its summary alone.
std::vector<RankFile> read_all(const std::vector<std::string>& files, const ReadOptions& reading);

}  // namespace tapelens::ranks
