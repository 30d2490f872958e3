// Makes entries from findings: one entry for each cause, in the order in which to fix them. Each entry has the
// remaining peak.
#pragma once

#include <vector>

#include "analyzer/advise/advice.h"

namespace tapelens::advise {

// A smaller share of the peak does not justify a change of a program.
inline constexpr double kSignificant = 0.01;

// Sorts findings, and their changes at the same indices, by the entries that they become. `are_applied`: they come from
// applied rewrites, which form one entry with any fixes.
std::vector<Entry> entries_of(const Process& process, const peak::Replay& replay, bool are_applied,
                              std::vector<Finding>& findings, std::vector<Change>& changes);

// The holders of the allocations in `left`: the peak with all findings fixed, or any other set.
std::vector<Remaining> remaining_of(const Process& process, const Text& text, const std::vector<Step>& steps,
                                    const peak::PeakSet& left);

}  // namespace tapelens::advise
