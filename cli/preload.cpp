#include "cli/preload.h"

#include <stdlib.h>
#include <unistd.h>

#include "trace/variables.h"

namespace tapelens::cli {

PreloadPath::PreloadPath() {
  const std::string libraries = library_folder();
  if (libraries.empty()) {
    reason_ = std::string(kInjectName) + " is not installed beside this tapelens (see `tapelens doctor`)";
    return;
  }
  std::string reached = libraries;
  if (libraries.find_first_of(" :$\t\n") != std::string::npos) {
    char name[] = "/tmp/tapelens-XXXXXX";
    if (mkdtemp(name) != nullptr) {
      folder_ = name;
      link_ = folder_ + "/lib";
    }
    if (link_.empty() || symlink(libraries.c_str(), link_.c_str()) != 0) {
      reason_ = "the path of " + libraries + " cannot be preloaded";
      return;
    }
    reached = link_;
  }
  path_ = reached + "/" + kInjectName;
}

PreloadPath::~PreloadPath() {
  if (!link_.empty()) unlink(link_.c_str());
  if (!folder_.empty()) rmdir(folder_.c_str());
}

Environment PreloadPath::environment(const std::string& more) const {
  Environment variables = preloading(path_ + (more.empty() ? "" : ":") + more);
  variables.emplace_back(TAPELENS_BUILT_PROBES, built_probe_folder());
  return variables;
}

Environment preloading(const std::string& libraries) {
  const auto behind = [](const char* name, const std::string& more) {
    const char* now = getenv(name);
    return (now != nullptr && *now != 0 ? std::string(now) + ":" : "") + more;
  };
  return {{"LD_PRELOAD", behind("LD_PRELOAD", libraries)},
          {"ASAN_OPTIONS", behind("ASAN_OPTIONS", "verify_asan_link_order=0")}};
}

}  // namespace tapelens::cli
