// The folder of spools of a recording that is being made: OUTPUT.spool/, one *.spool a process. It is this user's own
// and nobody else can write into it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/spool.h"

namespace tapelens::cli {

struct SpoolFolder {
  enum class State { ready, holds_spools, cannot } state = State::cannot;
  std::string path;    // absolute
  std::string reason;  // if `cannot`: one phrase for the user
};

// Makes the folder for `output`, beside it or in the folder `where`. Spools of an earlier recording are removed if
// `discard`, else left and reported.
SpoolFolder make_spool_folder(const std::string& output, const std::string& where, bool discard);

std::vector<std::string> spools_in(const std::string& folder);  // paths, sorted

// What a spool's header says; `recording` where it has none yet.
trace::SpoolState state_of(const std::string& spool);

// What a spool takes on disk, by what its header says: 0 where it has none yet.
uint64_t bytes_in(const std::string& spool);

// Processes that were recording when last seen, and still run.
std::vector<uint32_t> living_processes(const std::string& folder);

// Removes the spools, with what is kept of their older steps, and the folder unless it holds something else.
void remove_spool_folder(const std::string& folder);
// The same of a folder that the user names, in which files may have that suffix and be no spools.
void remove_sealed_spools(const std::string& folder);

}  // namespace tapelens::cli
