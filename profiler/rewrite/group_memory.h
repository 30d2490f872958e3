// The memory that the control group of the process permits.
#pragma once

#include <cstdint>

namespace tapelens::rewrite {

// `bytes`, or the group's limit if that is less. A group without a limit, or a system without groups, changes nothing.
uint64_t within_group(uint64_t bytes);

}  // namespace tapelens::rewrite
