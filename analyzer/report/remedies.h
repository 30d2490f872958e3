// Advice about memory at the peak that no check covers.
#pragma once

#include <string>

#include "analyzer/advise/advice.h"

namespace tapelens::report {

// Leaves out techniques that the program uses already. Empty: no known advice.
std::string remedy_text(const advise::Remaining& left, const peak::InUse& in_use);

}  // namespace tapelens::report
