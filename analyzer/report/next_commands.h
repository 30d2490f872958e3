// What to type after `tapelens advise`: commands that can be pasted.
#pragma once

#include <string>
#include <vector>

#include "analyzer/report/layout.h"
#include "analyzer/report/report.h"

namespace tapelens::report {

struct NextCommand {
  std::string command, why;
};
// Of what the advice has: the proof and the run of what is automatic, the patch, more of the findings.
std::vector<NextCommand> next_commands(const Report& report);
void add_next_commands(Page& page, const Report& report);

// What applies the rewrites of an automatic entry: "--apply bitwise"; "--allow NAME" for what no level has.
std::string applying_text(const advise::Advice& advice, const advise::Entry& entry);
// "tapelens run --apply bitwise -- python train.py"
std::string run_command(const Report& report, const advise::Entry& entry);

}  // namespace tapelens::report
