// NCCL, where one process is the only rank that there is.
#pragma once

namespace tapelens::simulated {

// Of how many ranks the communicator is that this thread splits off of another next. NCCL itself is told a colour
// alone, and counts who comes with it.
void set_split_ranks(int ranks);

}  // namespace tapelens::simulated
