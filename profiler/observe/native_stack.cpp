// The program counters of the calling thread, symbolized after the run.
#include <unwind.h>

#include "profiler/observe/observers.h"
#include "profiler/observe/stack.h"

namespace tapelens::observe {

uint32_t native_stack_here(Thread& thread) {
  constexpr size_t kMostFrames = 256;
  struct Walk {
    uint64_t counters[kMostFrames];
    size_t count = 0;
    bool cut = false;
  } walk;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* data) {
        auto& to = *static_cast<Walk*>(data);
        if (to.count == kMostFrames) {
          to.cut = true;
          return _URC_END_OF_STACK;
        }
        to.counters[to.count++] = _Unwind_GetIP(context);
        return _URC_NO_REASON;
      },
      &walk);
  return record::native_stack(thread, {walk.counters, walk.count}, walk.cut);
}

}  // namespace tapelens::observe
