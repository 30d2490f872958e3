#include "cli/live_run.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include "cli/spool_folder.h"

namespace tapelens::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".spool";

std::string without_extension(const std::string& path) {
  return path.ends_with(kExtension) ? path.substr(0, path.size() - kExtension.size()) : path;
}

LiveTarget folder_target(std::string folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  const std::string title = fs::path(without_extension(folder)).filename().string();
  return {title, std::move(folder), {}};
}

trace::Result<LiveTarget> newest_here() {
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
  return folder_target(newest);
}

}  // namespace

trace::Result<LiveTarget> find_live_target(const std::string& name) {
  if (name.empty()) return newest_here();
  std::error_code error;
  if (fs::is_directory(name, error)) return folder_target(name);
  if (fs::is_directory(name + std::string(kExtension), error)) return folder_target(name + std::string(kExtension));
  if (name.ends_with(kExtension) && fs::is_regular_file(name, error))
    return LiveTarget{fs::path(name).filename().string(), {}, name};
  if (std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; })) {
    pid_t pid = 0;
    int ignored = 0;
    std::from_chars(name.data(), name.data() + name.size(), pid);  // 0 if it is no pid
    if (const std::string folder = spools_of_process(pid, ignored); !folder.empty()) return folder_target(folder);
    return trace::Error{"process " + name + " is not recorded, or is another user's", trace::ErrorKind::usage};
  }
  if (fs::exists(name, error))
    return trace::Error{name + ": is complete, no program writes it: tapelens report " + name};
  return trace::Error{name + ": no such recording, and no folder " + name + ".spool that a program writes"};
}

void LiveRun::find_processes() {
  std::vector<std::string> paths{target_.spool};
  if (!target_.folder.empty()) paths = spools_in(target_.folder);
  for (const std::string& path : paths) {
    if (known_.contains(path)) continue;
    auto process = live::Followed::open(path);
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

}  // namespace tapelens::cli
