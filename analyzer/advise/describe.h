// Facts about a group that every check needs: its place, its steps, its bytes, and their other holders.
#pragma once

#include "analyzer/advise/advice.h"
#include "analyzer/advise/groups.h"

namespace tapelens::advise {

// A frame as text; empty without a frame.
Frame frame_of(const Text& text, FrameId frame);

// `edit`: the line to be edited; none: the biggest occurrence's own.
Finding describe_place(const check::Context& context, Places& places, const FoundGroup& group, check::EditLine edit);

}  // namespace tapelens::advise
