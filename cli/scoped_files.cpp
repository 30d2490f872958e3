#include "cli/scoped_files.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace tapelens::cli {

TemporaryFolder::TemporaryFolder() {
  const char* parent = getenv("TMPDIR");
  const std::string below = parent != nullptr && *parent != '\0' ? parent : "/tmp";
  std::string name = below + "/tapelens-XXXXXX";
  if (mkdtemp(name.data()) != nullptr) {
    std::error_code error;
    path_ = std::filesystem::absolute(name, error).string();
  } else {
    reason_ = below + ": " + std::strerror(errno);
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  if (!path_.empty()) std::filesystem::remove_all(path_, error);
}

}  // namespace tapelens::cli
