#include "cli/dump_requests.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <thread>

#include "analyzer/text/escape.h"
#include "cli/scoped_files.h"
#include "cli/spool_folder.h"
#include "trace/regular_file.h"

namespace tapelens::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLookEvery{20}, kMostWait{2000};
constexpr size_t kMostOfAnswer = size_t{1} << 20;
constexpr std::string_view kRequest = ".request", kAnswer = ".answer";

std::string recorder_file(const std::string& folder) { return folder + "/recorder"; }
std::string file_of(const std::string& folder, pid_t asker, std::string_view extension) {
  return folder + "/" + std::to_string(asker) + std::string(extension);
}

std::optional<pid_t> pid_of(std::string_view text) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  return error == std::errc() && end == text.data() + text.size() && pid > 0 ? std::optional(pid) : std::nullopt;
}

bool write_whole(const std::string& path, std::string_view text) {
  const OpenFile file(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
  return file.descriptor() >= 0 &&
         write(file.descriptor(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::optional<std::string> read_whole(const std::string& path) {
  const auto bytes = trace::read_regular_file(path, kMostOfAnswer);
  return bytes ? std::optional(std::string(bytes->begin(), bytes->end())) : std::nullopt;
}

std::vector<pid_t> files_with(const std::string& folder, std::string_view extension) {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != extension) continue;
    if (const auto pid = pid_of(entry.path().stem().string())) found.push_back(*pid);
  }
  return found;
}

// The recorder that answers requests in this folder; none if it has ended.
std::optional<pid_t> recorder_in(const std::string& folder) {
  const auto text = read_whole(recorder_file(folder));
  const auto pid = text ? pid_of(*text) : std::nullopt;
  return pid && is_alive(*pid) ? pid : std::nullopt;
}

// ---- processes

pid_t parent_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string line{std::istreambuf_iterator<char>(file), {}};
  // "12 (a name) S 11": the name may contain anything.
  const size_t behind = line.rfind(')');
  if (behind == std::string::npos) return 0;
  std::istringstream rest(line.substr(behind + 1));
  char state = 0;
  pid_t parent = 0;
  rest >> state >> parent;
  return parent;
}

std::vector<pid_t> below(pid_t pid) {
  std::multimap<pid_t, pid_t> children;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    if (const auto one = pid_of(entry.path().filename().string())) children.emplace(parent_of(*one), *one);
  }
  std::vector<pid_t> found{pid};
  for (size_t i = 0; i < found.size(); ++i) {
    const auto [first, last] = children.equal_range(found[i]);
    for (auto child = first; child != last; ++child) found.push_back(child->second);
  }
  found.erase(found.begin());
  return found;
}

}  // namespace

// ---- the recorder's side

DumpRequests::DumpRequests(std::string folder) : folder_(std::move(folder)) {
  const std::string file = recorder_file(folder_);
  accepts_ =
      write_whole(file + ".part", std::to_string(getpid())) && rename((file + ".part").c_str(), file.c_str()) == 0;
}

DumpRequests::~DumpRequests() {
  unlink(recorder_file(folder_).c_str());
  const auto until = std::chrono::steady_clock::now() + kMostWait;
  for (std::vector<pid_t> askers = files_with(folder_, kAnswer); !askers.empty();
       askers = files_with(folder_, kAnswer)) {
    const bool is_awaited = std::ranges::any_of(askers, is_alive) && std::chrono::steady_clock::now() < until;
    if (is_awaited) {
      std::this_thread::sleep_for(kLookEvery);
      continue;
    }
    for (const pid_t asker : askers) unlink(file_of(folder_, asker, kAnswer).c_str());
    break;
  }
  for (const pid_t asker : pending()) unlink(file_of(folder_, asker, kRequest).c_str());
}

std::vector<pid_t> DumpRequests::pending() const { return files_with(folder_, kRequest); }

void DumpRequests::answer(pid_t asker, const DumpAnswer& answer) const {
  std::string text;
  for (const std::string& file : answer.files) text += "+" + file + "\n";
  if (answer.files.empty()) text = "-" + answer.refused + "\n";
  const std::string file = file_of(folder_, asker, kAnswer);
  // On a full disk the asker learns from the end of the recorder that it has no answer.
  if (write_whole(file + ".part", text)) rename((file + ".part").c_str(), file.c_str());
  unlink((file + ".part").c_str());
  unlink(file_of(folder_, asker, kRequest).c_str());
}

bool has_recorder(const std::string& folder) { return recorder_in(folder).has_value(); }

void remove_requests(const std::string& folder) {
  unlink(recorder_file(folder).c_str());
  for (const std::string_view extension : {kRequest, kAnswer}) {
    for (const pid_t asker : files_with(folder, extension)) unlink(file_of(folder, asker, extension).c_str());
  }
}

// ---- the asker's side

trace::Result<std::vector<std::string>> recorders_of(pid_t pid) {
  const std::string name = "pid " + std::to_string(pid);
  if (!is_alive(pid)) return trace::Error{name + ": no such process"};
  int error = 0, ignored = 0;
  std::set<std::string> folders;
  const auto add = [&](const std::string& folder) {
    if (!folder.empty()) folders.insert(folder);
  };
  add(spools_of_process(pid, error));
  if (folders.empty()) {
    for (const pid_t one : below(pid)) add(spools_of_process(one, ignored));
  }
  std::vector<std::string> found;
  std::ranges::copy_if(folders, std::back_inserter(found),
                       [](const std::string& folder) { return recorder_in(folder).has_value(); });
  if (!found.empty()) return found;
  if (error == EACCES) return trace::Error{name + ": belongs to another user: run `tapelens dump` as that user"};
  if (error != 0) return trace::Error{name + ": has ended"};  // and its parent has not noticed yet
  const std::string start = ": start its program with `tapelens record --on-demand -- COMMAND`";
  if (folders.empty()) return trace::Error{name + ": is not recorded" + start};
  return trace::Error{name + ": is recorded without --on-demand, or its recorder has ended" + start};
}

trace::Result<DumpAnswer> request_dump(const std::string& folder) {
  const std::string request = file_of(folder, getpid(), kRequest), file = file_of(folder, getpid(), kAnswer);
  unlink(file.c_str());
  if (!write_whole(request, "")) return trace::Error{request + ": cannot be written: " + std::strerror(errno)};
  while (true) {
    const bool has_ended = !recorder_in(folder);  // before the last look for the answer
    if (const auto text = read_whole(file)) {
      unlink(file.c_str());
      DumpAnswer answer;
      std::istringstream lines(*text);
      for (std::string line; std::getline(lines, line);) {
        if (line.starts_with('+')) answer.files.push_back(line.substr(1));
        if (line.starts_with('-')) answer.refused = line.substr(1);
      }
      return answer;
    }
    if (has_ended) {
      unlink(request.c_str());
      return trace::Error{text::shell_quote(folder) + ": the program ended before the recording was made"};
    }
    std::this_thread::sleep_for(kLookEvery);
  }
}

}  // namespace tapelens::cli
