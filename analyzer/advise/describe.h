// The facts about a group that are the same for every check: where it is, in which steps, what it holds, who else does.
#pragma once

#include "analyzer/advise/advice.h"
#include "analyzer/advise/groups.h"

namespace tapelens::advise {

// In words; empty if there is none.
Frame frame_of(const Text& text, FrameId frame);

// `edit`: the line to be edited; none: the biggest occurrence's own.
Finding describe_place(const check::Context& context, Places& places, const FoundGroup& group, check::EditLine edit);

}  // namespace tapelens::advise
