// NCCL, where one process is the only rank that there is.
#pragma once

namespace tapelens::simulated {

// Of how many ranks the communicator is that this thread splits off of another next. NCCL itself is told a colour
// alone, and counts who comes with it.
void set_split_ranks(int ranks);

// known.h: watch_communicators. `made` is called under a lock for those that there are; it may make no communicator.
using CommunicatorMade = void (*)(int device, int ranks);
void watch_communicators(CommunicatorMade made);

}  // namespace tapelens::simulated
