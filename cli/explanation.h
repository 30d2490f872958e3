// The reasons that processes of a run give for not being recorded or rewritten: TAPELENS_EXPLANATION of
// trace/variables.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/child.h"

namespace tapelens::cli {

// Makes the file in the folder of the spools or tallies, and reserves its disk space: a full disk is one of the
// reasons. Without the file, each process prints the reason itself.
void make_explanation(const std::string& folder);

struct Explanation {
  std::string why;        // one sentence without its full stop
  bool was_said = false;  // already on standard error
};
// None if no process gave a reason; an invalid file is ignored.
std::optional<Explanation> read_explanation(const std::string& folder);
// Records the reason before the run, from this process.
void write_explanation(const std::string& folder, const std::string& why);
void remove_explanation(const std::string& folder);

// Explains in one line why a command left no recording. Combines known facts (how the command ended, whether its
// program ignores preloaded libraries) with advice. `command` is not empty; `end` is of a started command.
std::string why_nothing_was_recorded(const std::vector<std::string>& command, const ChildEnd& end);

}  // namespace tapelens::cli
