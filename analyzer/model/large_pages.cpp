#include "analyzer/model/large_pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace tapelens::model {

void prefer_large_pages(void* begin, size_t bytes) {
  constexpr uintptr_t kPage = uintptr_t{2} << 20;
  const auto from = (reinterpret_cast<uintptr_t>(begin) + kPage - 1) / kPage * kPage;
  const auto to = (reinterpret_cast<uintptr_t>(begin) + bytes) / kPage * kPage;
  // An error is ignored: pages stay small.
  if (from < to) madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);
}

}  // namespace tapelens::model
