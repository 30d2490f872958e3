// Commands to paste after `tapelens advise`.
#pragma once

#include <string>
#include <vector>

#include "analyzer/report/report.h"
#include "analyzer/text/layout.h"

namespace tapelens::report {

struct NextCommand {
  std::string command, why;
};
// Commands from the advice: verify and run the automatic rewrites, apply the patch, show more findings.
std::vector<NextCommand> next_commands(const Report& report);
void add_next_commands(text::Page& page, const Report& report);

// The options of `tapelens advise` that select the same process and device: " --device cuda:1"
std::string same_memory(const Report& report);

// Options that apply the rewrites of an automatic entry: "--apply bitwise"; "--allow NAME" for rewrites outside every
// level.
std::string applying_text(const advise::Advice& advice, const advise::Entry& entry);
// "tapelens run --apply bitwise -- python train.py"
std::string run_command(const Report& report, const advise::Entry& entry);

}  // namespace tapelens::report
