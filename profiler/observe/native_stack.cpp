// The program counters of the calling thread, symbolised after the run.
#include <link.h>
#include <unistd.h>
#include <unwind.h>

#include "profiler/record/intern.h"
#include "profiler/observe/stack.h"

namespace tapelens::capture {
namespace {

// The executable files in the address space, which program counters are looked up in.
void write_mappings(Thread& thread) {
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        char path[4096];
        const char* name = info->dlpi_name;
        if (*name == '\0') {  // the program itself; what has no file (the vdso) cannot be opened later
          const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
          if (length <= 0) return 0;
          path[length] = '\0';
          name = path;
        }
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
          const uint64_t begin = info->dlpi_addr + segment.p_vaddr;
          write_mapping(*static_cast<Thread*>(data), name, begin, begin + segment.p_memsz, info->dlpi_addr);
        }
        return 0;
      },
      &thread);
}

// Writes the mappings anew when libraries were loaded since the last time.
void follow_mappings(Thread& thread) {
  unsigned long long loaded = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        *static_cast<unsigned long long*>(data) = info->dlpi_adds;
        return 1;
      },
      &loaded);
  static std::atomic<unsigned long long> known{0};
  if (known.exchange(loaded, std::memory_order_relaxed) != loaded) write_mappings(thread);
}

}  // namespace

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
  follow_mappings(thread);
  return add_native_stack(thread, hash, {walk.counters, walk.count});
}

}  // namespace tapelens::capture
