// The memory limit of commands that read unverified files.
#pragma once

namespace tapelens::cli {

// Limits allocations to the memory of the machine and of the process's control group. A larger allocation fails, and
// main() reports it; without the limit, the system would kill other programs too. Not for commands that start the
// user's program, which would inherit the limit.
void stay_within_memory();

}  // namespace tapelens::cli
