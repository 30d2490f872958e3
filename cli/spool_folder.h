// The folder of spools beside a recording that is being made: OUTPUT.spool/, one *.spool a process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tapelens::cli {

struct SpoolFolder {
  enum class State { ready, holds_spools, cannot } state = State::cannot;
  std::string path;    // absolute
  std::string reason;  // if `cannot`: one phrase for the user
};

// Makes the folder for `output`. Spools of an earlier recording are removed if `discard`, else left and reported.
SpoolFolder make_spool_folder(const std::string& output, bool discard);

std::vector<std::string> spools_in(const std::string& folder);  // paths, sorted

// Processes that were recording when last seen, and still run.
std::vector<uint32_t> living_processes(const std::string& folder);

// Removes the spools, and the folder unless it holds something else.
void remove_spool_folder(const std::string& folder);

}  // namespace tapelens::cli
