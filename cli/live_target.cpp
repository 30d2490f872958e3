#include "cli/live_target.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <utility>

#include "cli/spool_folder.h"

namespace tapelens::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".spool";

trace::Result<live::LiveTarget> newest_here() {
  std::string newest;
  fs::file_time_type time;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(".", error)) {
    if (entry.path().extension() != kExtension || !entry.is_directory(error)) continue;
    fs::file_time_type last = entry.last_write_time(error);
    for (const std::string& spool : spools_in(entry.path().string()))
      last = std::max(last, fs::last_write_time(spool, error));
    if (!newest.empty() && last <= time) continue;
    newest = entry.path().lexically_normal().string();
    time = last;
  }
  if (newest.empty()) {
    return trace::Error{"no program is recorded in this folder: name the recording that is written, like run.tapelens",
                        trace::ErrorKind::usage};
  }
  return live::folder_target(newest);
}

}  // namespace

trace::Result<live::LiveTarget> find_live_target(const std::string& name) {
  if (name.empty()) return newest_here();
  std::error_code error;
  if (fs::is_directory(name, error)) return live::folder_target(name);
  // An older recording may have the name of the one that is written.
  if (fs::is_directory(name + std::string(kExtension), error))
    return live::folder_target(name + std::string(kExtension));
  if (auto target = live::target_at(name)) return std::move(*target);
  if (std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; })) {
    pid_t pid = 0;
    int ignored = 0;
    std::from_chars(name.data(), name.data() + name.size(), pid);  // 0: not a pid
    if (const std::string folder = spools_of_process(pid, ignored); !folder.empty()) return live::folder_target(folder);
    return trace::Error{"process " + name + " is not recorded, or is another user's", trace::ErrorKind::usage};
  }
  if (fs::exists(name, error))
    return trace::Error{name + ": is complete, no program writes it: tapelens report " + name};
  return trace::Error{name + ": no such recording, and no folder " + name + ".spool that a program writes"};
}

}  // namespace tapelens::cli
