// The files of a run's ranks: which they are, and what each says.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/ranks/job.h"

namespace tapelens::ranks {

// Files as they are, and of folders the recordings in them and below, by name. An error names the first that is
// neither.
trace::Result<std::vector<std::string>> files_of(const std::vector<std::string>& given);

// Whether the summary of a file says that it is of a rank of several.
bool is_of_a_rank(const std::string& file);

// How much is read, of 1; from several threads, one at a time. false: nobody wants the rest.
using Progress = std::function<bool(double)>;

struct Reading {
  std::string_view version;  // of this Tapelens
  // Looks for findings where a file's summary does not know them; empty: nobody asked for that.
  std::function<advise::Checks()> checks;
  Progress progress;  // may be empty
};
// In the order of the files, on as many threads as there are cores. Files with a summary are read by that alone.
std::vector<Source> read_all(const std::vector<std::string>& files, const Reading& reading);

}  // namespace tapelens::ranks
