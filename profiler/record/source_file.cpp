// See source_file.h. Runs in the program's thread: does not allocate for the content, does not block, and keeps errno.
#include "profiler/record/source_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>

#include "profiler/observe/thread.h"
#include "trace/checksum.h"

namespace tapelens::record {
namespace {

constexpr int64_t kMostBytes = 16 << 20;

class File {
 public:
  explicit File(const char* path) : file_(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
  ~File() {
    if (file_ >= 0) close(file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int number() const { return file_; }

 private:
  int file_;
};

struct KeptErrno {
  const int was = errno;
  ~KeptErrno() { errno = was; }
};

// A file's ctime covers its name, owner and content: replacing it by an older file changes the ctime.
bool is_as_at_begin(const struct stat& facts) {
  const int64_t changed = int64_t{facts.st_ctim.tv_sec} * 1'000'000'000 + facts.st_ctim.tv_nsec;
  return S_ISREG(facts.st_mode) && facts.st_size <= kMostBytes && changed <= observe::g_inject->began_ns;
}

}  // namespace

std::optional<SourceContent> read_source(std::string_view name) {
  if (!name.starts_with('/')) return std::nullopt;  // "<string>", "<frozen os>"; a relative path is ambiguous
  const KeptErrno kept;
  const std::string path(name);
  struct stat facts {};
  // stat() first: opening a pipe would wake a process that waits at its other end.
  if (stat(path.c_str(), &facts) != 0 || !is_as_at_begin(facts)) return std::nullopt;
  const File file(path.c_str());
  if (file.number() < 0 || fstat(file.number(), &facts) != 0 || !is_as_at_begin(facts)) return std::nullopt;
  trace::Checksum checksum;
  std::array<std::byte, 16384> part;
  int64_t bytes = 0;
  while (bytes <= facts.st_size) {
    const ssize_t count = read(file.number(), part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    checksum.add(part.data(), static_cast<size_t>(count));
    bytes += count;
  }
  if (bytes != facts.st_size) return std::nullopt;  // the file is being written
  return SourceContent{static_cast<uint64_t>(bytes), checksum.value()};
}

}  // namespace tapelens::record
