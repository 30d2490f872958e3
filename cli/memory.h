// How much memory a command may take that reads files which nobody vouches for.
#pragma once

namespace tapelens::cli {

// From now on an allocation past the machine's memory, or past what the process's control group is given, fails instead
// of ending other programs too; main() says so. Not for commands that start the user's program: it would inherit it.
void stay_within_memory();

}  // namespace tapelens::cli
