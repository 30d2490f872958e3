// A file and a folder that end with their object.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>

namespace tapelens::cli {

// A file that closes when this object is destroyed.
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

// A temporary folder that this object removes when it is destroyed.
class TemporaryFolder {
 public:
  // Makes a folder below $TMPDIR or /tmp; `reason` says why on failure.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  explicit operator bool() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
  const std::string& reason() const { return reason_; }  // "/tmp: No space left on device"

 private:
  std::string path_, reason_;
};

}  // namespace tapelens::cli
