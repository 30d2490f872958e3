// The reasons that processes of a run give for not being recorded or rewritten: TAPELENS_EXPLANATION of
// trace/variables.h.
#pragma once

#include <optional>
#include <string>

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

}  // namespace tapelens::cli
