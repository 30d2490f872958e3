#include "profiler/rewrite/freed_blocks.h"

#include <dlfcn.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "profiler/heap/block_cache.h"
#include "profiler/observe/hooks.h"
#include "profiler/rewrite/group_memory.h"

namespace tapelens::rewrite {
namespace {

using heap::BlockCache;

constexpr uint64_t kMostWaiting = uint64_t{256} << 20;
constexpr uint64_t kShare = 32;  // and at most this part of the memory that the process may have

BlockCache* g_cache = nullptr;
void* (*g_allocate)(size_t);
void (*g_free)(void*);
// Caffe2's options: how LibTorch's function fills and places new memory. Null: this LibTorch has none.
const bool* g_options[3];

// The hooks replace c10::alloc_cpu() and c10::free_cpu(), which PyTorch's allocator of the CPU calls.
void* allocate(size_t bytes) {
  if (bytes < BlockCache::kLeast || observe::mode() == observe::Mode::off) return g_allocate(bytes);
  for (const bool* option : g_options)
    if (option != nullptr && *option) return g_allocate(bytes);
  return g_cache->allocate(bytes);
}

void free(void* block) {
  if (block == nullptr || observe::mode() == observe::Mode::off) return g_free(block);
  const size_t bytes = malloc_usable_size(block);
  if (bytes < BlockCache::kLeast) return g_free(block);
  g_cache->free(block, bytes);
}

// Whether one library has both functions: another allocator that has no function for the size of a block would give
// blocks that glibc's function misreads.
bool is_of_one_allocator() {
  Dl_info allocates{}, measures{};
  return dladdr(dlsym(RTLD_DEFAULT, "posix_memalign"), &allocates) != 0 &&
         dladdr(dlsym(RTLD_DEFAULT, "malloc_usable_size"), &measures) != 0 && allocates.dli_fbase == measures.dli_fbase;
}

bool has_limit(__rlimit_resource_t resource) {
  rlimit limit{};
  return getrlimit(resource, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

uint64_t most_waiting() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0 || has_limit(RLIMIT_AS) || has_limit(RLIMIT_DATA)) return 0;
  return std::min(kMostWaiting, within_group(static_cast<uint64_t>(pages) * static_cast<uint64_t>(page)) / kShare);
}

}  // namespace

void reuse_freed_blocks() {
  g_allocate = observe::real<void* (*)(size_t)>(TAPELENS_alloc_cpu);
  g_free = observe::real<void (*)(void*)>(TAPELENS_free_cpu);
  const uint64_t limit = most_waiting();
  if (g_allocate == nullptr || g_free == nullptr || limit < BlockCache::kLeast || !is_of_one_allocator()) return;
  size_t option = 0;
  for (const char* name : {"FLAGS_caffe2_cpu_allocator_do_zero_fill", "FLAGS_caffe2_cpu_allocator_do_junk_fill",
                           "FLAGS_caffe2_cpu_numa_enabled"}) {
    g_options[option++] = static_cast<const bool*>(dlsym(RTLD_DEFAULT, name));
  }
  g_cache = new BlockCache({g_allocate, g_free, [](void* block) { return malloc_usable_size(block); }}, limit);
  observe::g_inject->replace(TAPELENS_alloc_cpu, reinterpret_cast<void*>(&allocate));
  observe::g_inject->replace(TAPELENS_free_cpu, reinterpret_cast<void*>(&free));
}

}  // namespace tapelens::rewrite
