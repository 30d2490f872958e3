// The spools of a recording in progress: OUTPUT.spool/, one *.spool a process. The folder belongs to this user, and no
// other user can write into it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "trace/running_process.h"
#include "trace/spool.h"
#include "trace/spools_in.h"

namespace tapelens::cli {

struct SpoolFolder {
  enum class State { ready, holds_spools, cannot } state = State::cannot;
  std::string path;    // absolute
  std::string reason;  // if `cannot`: a phrase for the user
};

// Makes the folder for `output`, beside it or in the folder `where`. With `discard`, removes the spools of an earlier
// recording; otherwise keeps and reports them.
SpoolFolder make_spool_folder(const std::string& output, const std::string& where, bool discard);

using trace::is_alive;
using trace::spools_in;

// The state in a spool's header; `recording` if it has no header yet.
trace::SpoolState state_of(const std::string& spool);

// The size of a spool on disk, from its header; 0 if it has no header yet.
uint64_t bytes_in(const std::string& spool);

// The number of requests of its process that failed for lack of memory, from its header.
uint64_t failures_in(const std::string& spool);

// The folder of spools that the environment of a process names; empty: it is not recorded. `error`: errno if its
// environment cannot be read, else 0.
std::string spools_of_process(pid_t pid, int& error);

// Processes whose spools are not finished, and that still run.
std::vector<uint32_t> living_processes(const std::string& folder);

// Removes the spools and their files of older steps, and the folder if it is empty then.
void remove_spool_folder(const std::string& folder);
// The same for a folder that the user names. It may contain files with that suffix that are not spools.
void remove_sealed_spools(const std::string& folder);

}  // namespace tapelens::cli
