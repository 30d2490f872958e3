// A temporary folder that this object removes when it is destroyed.
#pragma once

#include <string>

namespace tapelens::cli {

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
