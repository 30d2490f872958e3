// The program counters of the calling thread, symbolised after the run.
#include <unwind.h>

#include "profiler/capture/intern.h"
#include "profiler/capture/stack.h"

namespace tapelens::capture {

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
  if (walk.cut) g_spool.count(trace::Loss::truncated_text);
  uint64_t hash = 0x6a71e;
  for (size_t i = 0; i < walk.count; ++i) hash = mix(hash, walk.counters[i]);
  if (const uint32_t known = find_stack(thread, hash)) return known;
  return add_native_stack(thread, hash, {walk.counters, walk.count});
}

}  // namespace tapelens::capture
