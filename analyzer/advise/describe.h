// Facts about a group that every check needs: its place, its steps, its bytes, and their other holders.
#pragma once

#include "analyzer/advise/advice.h"
#include "analyzer/advise/groups.h"

namespace tapelens::advise {

// `edit`: the line to edit; none: the line of the biggest occurrence.
Finding describe_place(const check::Context& context, Places& places, const FoundGroup& group, check::EditLine edit);

}  // namespace tapelens::advise
