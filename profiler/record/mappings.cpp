// See mappings.h.
#include "profiler/record/mappings.h"

#include <link.h>
#include <unistd.h>

#include <atomic>

#include "profiler/record/intern.h"

namespace tapelens::record {
namespace {

void write_mappings(ThreadState& thread) {
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        char path[4096];
        const char* name = info->dlpi_name;
        if (*name == '\0') {  // the program itself; an object without a file (the vdso) cannot be opened later
          const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
          if (length <= 0) return 0;
          path[length] = '\0';
          name = path;
        }
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
          const uint64_t begin = info->dlpi_addr + segment.p_vaddr;
          write_mapping(*static_cast<ThreadState*>(data), name, begin, begin + segment.p_memsz, info->dlpi_addr);
        }
        return 0;
      },
      &thread);
}

}  // namespace

void follow_mappings(ThreadState& thread) {
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

}  // namespace tapelens::record
