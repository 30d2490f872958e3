#include "analyzer/live/live_run.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "trace/spools_in.h"

namespace tapelens::live {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".spool";

std::string without_extension(const std::string& path) {
  return path.ends_with(kExtension) ? path.substr(0, path.size() - kExtension.size()) : path;
}

}  // namespace

LiveTarget folder_target(std::string folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  const std::string title = fs::path(without_extension(folder)).filename().string();
  return {title, std::move(folder), {}};
}

std::optional<LiveTarget> target_at(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path + std::string(kExtension), error) && !fs::exists(path, error))
    return folder_target(path + std::string(kExtension));
  const std::string bare = path.size() > 1 && path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
  if (!bare.ends_with(kExtension)) return {};
  if (fs::is_directory(bare, error)) return folder_target(bare);
  if (fs::is_regular_file(bare, error)) return LiveTarget{fs::path(bare).filename().string(), {}, bare};
  return {};
}

std::string LiveTarget::recording() const {
  const std::string of = folder.empty() ? fs::path(spool).parent_path().string() : folder;
  return of.ends_with(kExtension) ? without_extension(of) : std::string();
}

void LiveRun::find_processes() {
  std::vector<std::string> paths{target_.spool};
  if (!target_.folder.empty()) paths = trace::spools_in(target_.folder);
  for (const std::string& path : paths) {
    if (known_.contains(path)) continue;
    auto process = Followed::open(path);
    if (!process) continue;  // it has no header yet
    known_.insert(path);
    processes_.push_back(std::move(*process));
    last_new_ = Clock::now();
  }
}

bool LiveRun::poll(Clock::time_point deadline) {
  constexpr std::chrono::milliseconds kBetweenLooks{250};
  if (Clock::now() >= next_look_) {
    find_processes();
    next_look_ = Clock::now() + kBetweenLooks;
  }
  bool is_all = true;
  for (const auto& process : processes_) {
    if (process->is_over()) continue;
    bool is_read = process->poll();
    while (!is_read && Clock::now() < deadline) is_read = process->poll();
    is_all = is_all && is_read;
  }
  return is_all;
}

bool LiveRun::is_over() const {
  constexpr std::chrono::seconds kQuiet{1};
  return !processes_.empty() && Clock::now() - last_new_ >= kQuiet &&
         std::ranges::all_of(processes_, [](const auto& process) { return process->is_over(); });
}

}  // namespace tapelens::live
