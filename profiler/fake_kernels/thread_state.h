// The state of each thread of a process with a simulated GPU.
#pragma once

#include <array>
#include <vector>

#include "profiler/fake_kernels/call.h"
#include "profiler/observe/thread.h"

namespace tapelens::fake_kernels {

struct ThreadState {
  std::array<OperatorTraits, observe::kOperatorNames> operators;  // as Thread::names
  struct Open {
    Call call;
    int exceptions;  // number of exceptions in flight when it began
  };
  std::vector<Open> calls;
  // A kernel reads counts that it computed from known tensors: not a read of unknown values.
  bool reads_known = false;
};

}  // namespace tapelens::fake_kernels
