// Opens paths from a recording, a spool, a plan or a user. Such a path may lead to a FIFO, a device or a folder:
// opening never blocks, and only regular files are read.
#pragma once

#include <cstdint>
#include <string>

#include "trace/result.h"

namespace tapelens::trace {

class RegularFile {
 public:
  // The error is the system's text, without the path: "No such file or directory".
  static Result<RegularFile> open(const std::string& path);
  RegularFile(RegularFile&& other) noexcept;
  RegularFile& operator=(RegularFile&& other) noexcept;
  ~RegularFile();

  int descriptor() const { return descriptor_; }
  uint64_t bytes() const { return bytes_; }  // at the time of opening
  int release();                             // the caller must close it

 private:
  RegularFile(int descriptor, uint64_t bytes) : descriptor_(descriptor), bytes_(bytes) {}
  int descriptor_;
  uint64_t bytes_;
};

// Reads a whole regular file of at most `most` bytes. The error is as above, or that the file is larger.
Result<std::string> read_regular_file(const std::string& path, uint64_t most);

}  // namespace tapelens::trace
