// Memory for the small objects of storage versions: versions, recipes, hooks.
//
// A training makes and frees thousands of them in each step. In the program's heap they would lie between its tensors,
// and the C library could not join or release the memory around them. The pool has its own pages and keeps them, as
// many as the peak number of live objects needs.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace tapelens::versions {

// Aligned as by `new`. Callable from any thread, also in a forked child: the pool is never locked across a fork. Throws
// std::bad_alloc.
void* pool_allocate(size_t bytes);
void pool_free(void* memory, size_t bytes) noexcept;

template <class T>
struct PoolAllocator {
  using value_type = T;
  static_assert(alignof(T) <= alignof(std::max_align_t));

  PoolAllocator() = default;
  template <class U>
  PoolAllocator(const PoolAllocator<U>&) {}  // NOLINT(google-explicit-constructor): allocators convert
  // NOLINTBEGIN(bugprone-sizeof-expression): T may be a pointer
  T* allocate(size_t count) { return static_cast<T*>(pool_allocate(count * sizeof(T))); }
  void deallocate(T* memory, size_t count) noexcept { pool_free(memory, count * sizeof(T)); }
  // NOLINTEND(bugprone-sizeof-expression)
  template <class U>
  bool operator==(const PoolAllocator<U>&) const {
    return true;
  }
};

template <class T, class... Arguments>
std::shared_ptr<T> make_pooled(Arguments&&... arguments) {
  return std::allocate_shared<T>(PoolAllocator<T>(), std::forward<Arguments>(arguments)...);
}

// A base for classes whose `new` allocates in the pool.
struct Pooled {
  static void* operator new(size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* memory, size_t bytes) noexcept { pool_free(memory, bytes); }

 protected:
  ~Pooled() = default;
};

}  // namespace tapelens::versions
