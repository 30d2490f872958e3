// A folder of this run's own, gone with it.
#pragma once

#include <string>

namespace tapelens::cli {

class TemporaryFolder {
 public:
  // Below $TMPDIR, or /tmp; `reason` says why there is none.
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
