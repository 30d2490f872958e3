#include "analyzer/report/next_commands.h"

#include <algorithm>
#include <set>

#include "analyzer/text/format.h"
#include "policy/catalog.h"

namespace tapelens::report {

using text::columns;
using text::pad_right;
using text::Page;
using text::Paint;
using text::plural;

namespace {

using advise::Entry;
using Kind = advise::Entry::Kind;

// The recorded program; a placeholder if the command is unknown.
std::string command_of(const Report& r) { return r.recording.command.empty() ? "COMMAND" : r.recording.command; }

std::string advise_command(const Report& r) { return "tapelens advise " + r.recording.file + same_memory(r); }

}  // namespace

std::string applying_text(const advise::Advice& advice, const Entry& entry) {
  int highest = policy::kNone;
  std::set<std::string> others;  // rewrites outside every level
  for (const uint32_t place : entry.findings) {
    const std::string& id = advice.findings[place].fix.rewrite;
    if (id.empty()) continue;
    const auto known = std::ranges::find(policy::catalog(), id, &policy::RewriteInfo::id);
    const int level = known == policy::catalog().end() ? policy::kNone : static_cast<int>(known->level);
    if (level == policy::kNone || level > static_cast<int>(policy::kPresets.back().highest)) {
      others.insert(id);
    } else {
      highest = std::max(highest, level);
    }
  }
  std::string text;
  for (const policy::Preset& group : policy::kPresets) {
    // The level of the user's `--apply`.
    if (advice.predicted && group.name == advice.predicted->name) text = "--apply " + std::string(group.name);
  }
  for (const policy::Preset& group : policy::kPresets) {
    if (!text.empty()) break;
    if (highest == policy::kNone || static_cast<int>(group.highest) < highest) continue;
    text = "--apply " + std::string(group.name);
    break;
  }
  for (const std::string& id : others) text += (text.empty() ? "--allow " : " --allow ") + id;
  return text;
}

std::string run_command(const Report& r, const Entry& entry) {
  return "tapelens run " + applying_text(*r.advice, entry) + " -- " + command_of(r);
}

std::vector<NextCommand> next_commands(const Report& r) {
  const advise::Advice& advice = *r.advice;
  std::vector<NextCommand> next;
  const auto automatic = std::ranges::find_if(
      advice.entries, [](const Entry& entry) { return entry.kind == Kind::automatic && !entry.is_small; });
  // A simulated GPU has no bits to compare.
  if (automatic != advice.entries.end() && r.recording.simulated_gpu.empty() && !advice.predicted) {
    next.push_back({"tapelens verify " + applying_text(advice, *automatic) + " -- " + command_of(r),
                    "proves the gradients, measures the peak"});
  }
  if (std::ranges::any_of(advice.findings, [](const advise::Finding& f) { return !f.fix.edits.empty(); })) {
    next.push_back({advise_command(r) + " --patch fix.patch", "writes the patches, for git apply"});
    if (r.recording.simulated_gpu.empty() && !advice.predicted) {
      next.push_back({"tapelens verify --patch fix.patch -- " + command_of(r), "proves them, measures the peak"});
    }
  }
  if (advice.entries.size() > 1) {
    next.push_back({advise_command(r) + " --all",
                    "all " + plural(advice.findings.size(), "finding", "findings") + "; --finding N: entry N alone"});
  } else if (!advice.entries.empty()) {
    next.push_back({advise_command(r) + " --finding 1", "its evidence"});
  }
  return next;
}

void add_next_commands(Page& page, const Report& r) {
  const std::vector<NextCommand> next = next_commands(r);
  if (next.empty()) return;
  page.heading("Next");
  unsigned width = 0;
  for (const NextCommand& one : next) width = std::max(width, columns(one.command));
  for (const NextCommand& one : next) {
    const bool has_room = width + columns(one.why) + 4 <= page.width();
    page.line("  " + (has_room ? pad_right(one.command, width) + "  " + page.paint(Paint::dim, one.why) : one.command));
  }
}

}  // namespace tapelens::report
