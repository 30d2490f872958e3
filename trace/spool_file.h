// The spool's file, as its writer inside the recorded process accesses it. Descriptors belong to the program: it may
// close any of them (os.closerange, as daemons do) and get the same number for its own file. So the writer keeps none.
// Each call opens the file by its path, and modifies it only if device and inode match the created file. libc only, no
// allocation, no lock: usable in a signal handler.
#pragma once

#include <unistd.h>

#include <climits>
#include <cstddef>
#include <cstdint>

#include "trace/types.h"

namespace tapelens::trace {

class SpoolFile {
 public:
  // Creates the file exclusively and makes its path absolute. Returns errno on failure, else 0.
  int create(const char* path);
  // Reserves disk space for `bytes` at `offset`, the end of the file, and maps them. On failure returns null and sets
  // `why`.
  void* extend(uint64_t offset, uint64_t bytes, Loss& why);
  // Shortens the file. If the file cannot be reached it keeps its length, which loses no data.
  void cut(uint64_t bytes);
  void remove();  // unless another file has its path

 private:
  class Descriptor;
  bool is_this(int file) const;
  char path_[PATH_MAX] = {};
  uint64_t device_ = 0, inode_ = 0;
};

// ---- pages: a mapping starts at a page of the kernel. On aarch64 a page may have 16 or 64 KiB, more than the header
// of a spool

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
