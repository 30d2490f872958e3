// From findings to what to do about them: one entry a cause, in the order in which to do them, each with the peak that
// is left then.
#pragma once

#include <vector>

#include "analyzer/advise/advice.h"

namespace tapelens::advise {

// Less than this share of the peak is no reason to change a program.
inline constexpr double kSignificant = 0.01;

// Puts findings, and their changes at the same places, into the order of the entries that they become. `are_applied`:
// they are those of applied rewrites, which are one entry whatever their fixes.
std::vector<Entry> entries_of(const Process& process, const peak::Replay& replay, bool are_applied,
                              std::vector<Finding>& findings, std::vector<Change>& changes);

// Who holds what is alive then: the peak with all findings fixed, or any other set.
std::vector<Remaining> remaining_of(const Process& process, const Text& text, const std::vector<Step>& steps,
                                    const peak::PeakSet& left);

}  // namespace tapelens::advise
