#pragma once

#include <sys/types.h>

namespace tapelens::trace {

// Whether a process runs, of any user. One that has ended and waits for its parent does not.
bool is_alive(pid_t pid);

}  // namespace tapelens::trace
