// The spool's file, as its writer inside the recorded process accesses it. Descriptors belong to the program: it may
// close any of them (os.closerange, as daemons do) and get the same number for its own file. So the writer keeps none.
// Each call opens the file by its path, and modifies it only if device and inode match the created file. libc only, no
// allocation, no lock: usable in a signal handler.
#pragma once

#include <climits>
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

}  // namespace tapelens::trace
