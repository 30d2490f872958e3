// A mapping begins at a page of the kernel's, which on aarch64 may have 16 or 64 KiB: more than the header of a spool.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace tapelens::trace {

// How far into a page this offset in a file is, or the address that it is mapped at.
inline size_t into_page(uint64_t offset) { return offset % static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }

// All that was mapped so that `bytes` are at `place`.
struct Mapping {
  std::byte* begin;
  size_t bytes;
};
inline Mapping mapping_around(void* place, size_t bytes) {
  const size_t before = into_page(reinterpret_cast<uintptr_t>(place));
  return {static_cast<std::byte*>(place) - before, before + bytes};
}

}  // namespace tapelens::trace
