#include "cli/spool_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "cli/dump_requests.h"
#include "cli/explanation.h"
#include "trace/spool_reader.h"
#include "trace/variables.h"

namespace tapelens::cli {

namespace fs = std::filesystem;

namespace {

// Why an existing folder cannot be used; empty if it can.
std::string wrong_with(const std::string& path) {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) return std::strerror(errno);
  if (!S_ISDIR(facts.st_mode)) return "it is not a folder";
  if (facts.st_uid != geteuid()) return "it is another user's";
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "other users can write into it";
  return {};
}

bool read_header(const std::string& spool, trace::SpoolHeader& header) {
  const int file = open(spool.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return false;
  const ssize_t got = pread(file, static_cast<void*>(&header), sizeof(header), 0);
  close(file);
  return got == sizeof(header) && header.magic == trace::kSpoolMagic;
}

// A process that is killed while it creates a spool leaves only zeros.
bool is_spool(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return false;
  uint64_t magic = 0;
  const bool was_read = pread(file, &magic, sizeof(magic), 0) >= 0;
  close(file);
  return was_read && (magic == 0 || magic == trace::kSpoolMagic);
}

void remove_spools(const std::string& folder, bool is_ours = true) {
  for (const std::string& spool : spools_in(folder)) {
    if (!is_ours && !is_spool(spool)) continue;
    unlink(spool.c_str());
    const std::string older = trace::older_path(spool);
    unlink(older.c_str());
    unlink(trace::part_path(older).c_str());  // left by a killed process
  }
}

}  // namespace

SpoolFolder make_spool_folder(const std::string& output, const std::string& where, bool discard) {
  SpoolFolder folder;
  std::error_code error;
  const fs::path target = fs::absolute(output, error).lexically_normal();
  const fs::path beside = where.empty() ? target : fs::absolute(where, error).lexically_normal() / target.filename();
  folder.path = beside.string() + ".spool";
  if (!target.has_filename() || fs::is_directory(target, error)) {
    folder.reason = output + " is a folder";
    return folder;
  }
  if (fs::exists(target, error) && !fs::is_regular_file(target, error)) {
    folder.reason = output + " is not a regular file";
    return folder;
  }
  if (mkdir(folder.path.c_str(), 0700) != 0) {
    const int why = errno;
    if (why != EEXIST) {
      folder.reason = "cannot write " + (where.empty() ? output : folder.path) + ": " + std::strerror(why);
      return folder;
    }
    if (const std::string wrong = wrong_with(folder.path); !wrong.empty()) {
      folder.reason = "cannot use " + folder.path + ": " + wrong;
      return folder;
    }
    if (!spools_in(folder.path).empty()) {
      folder.state = SpoolFolder::State::holds_spools;
      if (!discard) return folder;
      remove_spools(folder.path);
    }
  }
  if (chmod(folder.path.c_str(), 0700) != 0) {  // independent of the umask
    folder.reason = "cannot use " + folder.path + ": " + std::strerror(errno);
    return folder;
  }
  make_explanation(folder.path);
  folder.state = SpoolFolder::State::ready;
  return folder;
}

trace::SpoolState state_of(const std::string& spool) {
  trace::SpoolHeader header{};
  return read_header(spool, header) ? trace::SpoolState{header.state.load()} : trace::SpoolState::recording;
}

uint64_t bytes_in(const std::string& spool) {
  trace::SpoolHeader header{};
  if (!read_header(spool, header)) return 0;
  const uint64_t claimed = header.claimed_blocks.load();
  return (claimed - std::min(claimed, header.released_blocks.load())) * trace::kBlockBytes;
}

uint64_t failures_in(const std::string& spool) {
  trace::SpoolHeader header{};
  return read_header(spool, header) ? header.out_of_memory.load() : 0;
}

std::string spools_of_process(pid_t pid, int& error) {
  constexpr std::string_view kName = TAPELENS_SPOOL "=";
  errno = 0;
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  error = file.is_open() ? 0 : errno;
  for (std::string setting; std::getline(file, setting, '\0');) {
    if (setting.starts_with(kName)) return setting.substr(kName.size());
  }
  return {};
}

std::vector<uint32_t> living_processes(const std::string& folder) {
  std::vector<uint32_t> living;
  for (const std::string& spool : spools_in(folder)) {
    trace::SpoolHeader header{};
    if (!read_header(spool, header)) continue;
    if (header.state.load() != static_cast<uint32_t>(trace::SpoolState::recording) || header.pid == 0) continue;
    if (is_alive(static_cast<pid_t>(header.pid))) living.push_back(header.pid);
  }
  return living;
}

void remove_sealed_spools(const std::string& folder) {
  remove_spools(folder, /*is_ours=*/false);
  remove_explanation(folder);
  remove_requests(folder);
  rmdir(folder.c_str());
}

void remove_spool_folder(const std::string& folder) {
  remove_spools(folder);
  remove_explanation(folder);
  remove_requests(folder);
  rmdir(folder.c_str());
}

}  // namespace tapelens::cli
