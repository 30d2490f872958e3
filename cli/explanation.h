// Why processes of a run were not recorded, or not rewritten, as they say it themselves: TAPELENS_EXPLANATION of
// trace/variables.h.
#pragma once

#include <optional>
#include <string>

namespace tapelens::cli {

// Makes the file, in the folder for the spools or for the tallies, with its room on the disk: a full disk is one of the
// reasons. Without it processes say the reason one by one.
void make_explanation(const std::string& folder);

struct Explanation {
  std::string why;        // one sentence without its end
  bool was_said = false;  // standard error has it
};
// None: no process had a reason. What is no such file is left out.
std::optional<Explanation> read_explanation(const std::string& folder);
// This process says the reason itself, before the run.
void write_explanation(const std::string& folder, const std::string& why);
void remove_explanation(const std::string& folder);

}  // namespace tapelens::cli
