// A file that closes when this object is destroyed.
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
  int descriptor() const { return descriptor_; }  // -1: opening failed, errno has the reason

 private:
  const int descriptor_;
};

}  // namespace tapelens::cli
