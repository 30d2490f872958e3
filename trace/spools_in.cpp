#include "trace/spools_in.h"

#include <algorithm>
#include <filesystem>

namespace tapelens::trace {

namespace fs = std::filesystem;

std::vector<std::string> spools_in(const std::string& folder) {
  std::vector<std::string> spools;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const bool is_file = entry.symlink_status(error).type() == fs::file_type::regular;
    if (is_file && entry.path().extension() == ".spool") spools.push_back(entry.path().string());
  }
  std::sort(spools.begin(), spools.end());
  return spools;
}

}  // namespace tapelens::trace
