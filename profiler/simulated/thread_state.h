// What is kept of each thread of a process whose GPU is simulated.
#pragma once

#include <array>
#include <vector>

#include "profiler/observe/thread.h"
#include "profiler/simulated/call.h"

namespace tapelens::simulated {

struct ThreadState {
  std::array<OperatorTraits, observe::kOperatorNames> operators;  // as Thread::names
  struct Open {
    Call call;
    int exceptions;  // that were under way when it began
  };
  std::vector<Open> calls;
  // A kernel reads what it counted of tensors that are known: that is no place where unknown values are read.
  bool reads_known = false;
};

}  // namespace tapelens::simulated
