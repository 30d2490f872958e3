// A file that is open for as long as this lives.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>

namespace tapelens::cli {

class OpenFile {
 public:
  OpenFile(const std::string& path, int flags, mode_t mode = 0666)
      : descriptor_(open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int descriptor() const { return descriptor_; }  // -1: errno says why it could not be opened

 private:
  const int descriptor_;
};

}  // namespace tapelens::cli
