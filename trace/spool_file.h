// The file of a spool as its writer, inside the recorded process, reaches it. The numbers of descriptors belong to the
// program: it may close any of them (os.closerange, as daemons do) and be given the same number for a file of its own.
// So none is kept. The file is opened by its path for each call, and nothing is done to it before device and inode say
// that it is the one that was made. libc only, no allocation, no lock: usable in a signal handler.
#pragma once

#include <climits>
#include <cstdint>

#include "trace/types.h"

namespace tapelens::trace {

class SpoolFile {
 public:
  // Makes the file, exclusively; its path is made absolute. errno on failure, else 0.
  int create(const char* path);
  // Reserves space on disk for `bytes` at `offset`, the present end of the file, and maps them. Null: `why` says why.
  void* extend(uint64_t offset, uint64_t bytes, Loss& why);
  // Shortens the file. One that cannot be reached stays as it is: a file that is longer than needed is no loss.
  void cut(uint64_t bytes);
  void remove();  // unless another stands at its path

 private:
  class Descriptor;
  bool is_this(int file) const;
  char path_[PATH_MAX] = {};
  uint64_t device_ = 0, inode_ = 0;
};

}  // namespace tapelens::trace
