#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "cli/preload.h"

namespace tapelens::cli {

namespace fs = std::filesystem;

std::string library_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  for (const char* relative : {TAPELENS_LIBRARY_PATH, "../lib/tapelens"}) {
    const fs::path folder = fs::weakly_canonical(self.parent_path() / relative, error);
    if (!error && fs::is_regular_file(folder / kInjectName, error)) return folder.string();
  }
  return {};
}

std::string probe_source_folder() {
  const std::string folder = library_folder();
  std::error_code error;
  if (folder.empty() || !fs::is_regular_file(fs::path(folder) / "probe-source/id", error)) return {};
  return folder + "/probe-source";
}

std::string cache_folder() {
  const char* cache = getenv("XDG_CACHE_HOME");
  const char* home = getenv("HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/tapelens";
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache/tapelens" : "";
}

// Each version of the sources has its own folder, so that this installation can read the recordings of its probes.
std::string built_probe_folder() {
  const std::string cache = cache_folder();
  std::string id;
  std::ifstream(probe_source_folder() + "/id") >> id;
  return id.empty() || cache.empty() ? "" : cache + "/probes-" + id;
}

std::vector<std::string> probe_minors(const std::string& folder) {
  constexpr std::string_view kPrefix = "probe-", kSuffix = ".so";
  std::vector<std::pair<int, int>> minors;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    int major = 0, minor = 0;
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
    if (std::sscanf(name.c_str() + kPrefix.size(), "%d.%d.so", &major, &minor) == 2) minors.emplace_back(major, minor);
  }
  std::sort(minors.begin(), minors.end());
  std::vector<std::string> names;
  for (const auto& [major, minor] : minors) names.push_back(std::to_string(major) + "." + std::to_string(minor));
  return names;
}

}  // namespace tapelens::cli
