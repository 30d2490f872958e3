#include "profiler/versions/pool.h"

#include <pthread.h>
#include <sys/mman.h>

#include <memory_resource>
#include <new>

#include "base/mutex.h"

namespace tapelens::versions {
namespace {

constexpr size_t kLargest = 4096;  // a chunk of larger objects would be mostly empty

constexpr size_t up_to_multiple(size_t bytes, size_t of) { return (bytes + of - 1) / of * of; }

// libstdc++'s pools ignore the alignment (GCC bug 118681): blocks of 24 bytes are aligned to 8 only. Blocks of these
// sizes are aligned to kAlignment, because they follow each other from the start of a page.
constexpr size_t kAlignment = alignof(std::max_align_t);
constexpr size_t aligned_size(size_t bytes) { return up_to_multiple(bytes, kAlignment); }

// Pages from the system, outside of the C library's heap.
class Pages final : public std::pmr::memory_resource {
  static constexpr size_t kPage = 4096;
  static size_t rounded(size_t bytes) { return up_to_multiple(bytes, kPage); }
  void* do_allocate(size_t bytes, size_t) override {
    void* const memory = mmap(nullptr, rounded(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    return memory;
  }
  void do_deallocate(void* memory, size_t bytes, size_t) override { munmap(memory, rounded(bytes)); }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

struct Pool {
  base::Mutex lock;
  Pages pages TAPELENS_GUARDED_BY(lock);
  std::pmr::unsynchronized_pool_resource objects TAPELENS_GUARDED_BY(lock){
      {.max_blocks_per_chunk = 1024, .largest_required_pool_block = kLargest}, &pages};
};

// Never destroyed: graphs may live as long as the process.
Pool& pool() {
  static Pool* const made = [] {
    // A child frees inherited objects: the lock must not be held by a thread that it lacks.
    const auto lock = []() TAPELENS_NOT_ANALYZED { pool().lock.lock(); };  // until the end of the fork
    const auto unlock = []() TAPELENS_NOT_ANALYZED { pool().lock.unlock(); };
    pthread_atfork(lock, unlock, unlock);
    return new Pool;
  }();
  return *made;
}

}  // namespace

// Sanitizers track frees only in their own allocator.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
void* pool_allocate(size_t bytes) { return ::operator new(bytes); }
void pool_free(void* memory, size_t bytes) noexcept { ::operator delete(memory, bytes); }
#else
void* pool_allocate(size_t bytes) {
  if (bytes > kLargest) return ::operator new(bytes);
  Pool& here = pool();
  const base::MutexLock guard(here.lock);
  return here.objects.allocate(aligned_size(bytes), kAlignment);
}

void pool_free(void* memory, size_t bytes) noexcept {
  if (bytes > kLargest) {
    ::operator delete(memory, bytes);
    return;
  }
  Pool& here = pool();
  const base::MutexLock guard(here.lock);
  here.objects.deallocate(memory, aligned_size(bytes), kAlignment);
}
#endif

}  // namespace tapelens::versions
