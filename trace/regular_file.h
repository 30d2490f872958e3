// Opens paths that a recording, a spool or a plan names, and files that a user names. Such a path may lead to a FIFO,
// a device or a folder: nothing here waits for one, and only regular files are read.
#pragma once

#include <cstdint>
#include <string>

#include "trace/result.h"

namespace tapelens::trace {

class RegularFile {
 public:
  // The error is what the system says, without the path: "No such file or directory".
  static Result<RegularFile> open(const std::string& path);
  RegularFile(RegularFile&& other) noexcept;
  RegularFile& operator=(RegularFile&& other) noexcept;
  ~RegularFile();

  int descriptor() const { return descriptor_; }
  uint64_t bytes() const { return bytes_; }  // when it was opened
  int release();                             // the caller closes it

 private:
  RegularFile(int descriptor, uint64_t bytes) : descriptor_(descriptor), bytes_(bytes) {}
  int descriptor_;
  uint64_t bytes_;
};

// The whole of a regular file of at most `most` bytes; an error as above, or that it is larger.
Result<std::string> read_regular_file(const std::string& path, uint64_t most);

}  // namespace tapelens::trace
