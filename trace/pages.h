// A mapping starts at a page of the kernel. On aarch64 a page may have 16 or 64 KiB, more than the header of a spool.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace tapelens::trace {

// The offset within its page of a file offset or of a mapped address.
inline size_t into_page(uint64_t offset) { return offset % static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }

// The whole mapping that contains `bytes` at `place`.
struct Mapping {
  std::byte* begin;
  size_t bytes;
};
inline Mapping mapping_around(void* place, size_t bytes) {
  const size_t before = into_page(reinterpret_cast<uintptr_t>(place));
  return {static_cast<std::byte*>(place) - before, before + bytes};
}

}  // namespace tapelens::trace
