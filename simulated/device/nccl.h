// NCCL for a process that is the only existing rank.
#pragma once

namespace tapelens::simulated {

// Sets the number of ranks of the communicator that this thread splits off next. NCCL itself only gets a color, and
// counts the ranks with the same one.
void set_split_ranks(int ranks);

// simulated/known/known.h: watch_communicators. Under a lock, `made` is called for existing communicators; it must not
// make one.
using CommunicatorMade = void (*)(int device, int ranks);
void watch_communicators(CommunicatorMade made);

}  // namespace tapelens::simulated
