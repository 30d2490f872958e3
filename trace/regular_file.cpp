// See regular_file.h.
#include "trace/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace tapelens::trace {

Result<RegularFile> RegularFile::open(const std::string& path) {
  // Without O_NONBLOCK, opening a FIFO waits for its writer, and reading /proc/kmsg, a regular file, waits for the
  // kernel.
  RegularFile file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), 0);
  struct stat facts {};
  if (file.descriptor_ < 0 || fstat(file.descriptor_, &facts) != 0) return Error{std::strerror(errno)};
  if (S_ISDIR(facts.st_mode)) return Error{std::strerror(EISDIR)};
  if (!S_ISREG(facts.st_mode)) return Error{"not a regular file"};
  file.bytes_ = static_cast<uint64_t>(facts.st_size);
  return file;
}

RegularFile::RegularFile(RegularFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), bytes_(other.bytes_) {}

RegularFile& RegularFile::operator=(RegularFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

RegularFile::~RegularFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

int RegularFile::release() { return std::exchange(descriptor_, -1); }

Result<std::string> read_regular_file(const std::string& path, uint64_t most) {
  auto file = RegularFile::open(path);
  if (!file) return file.error();
  if (file->bytes() > most) return Error{"larger than " + std::to_string(most) + " bytes"};
  std::string text(file->bytes(), '\0');
  size_t got = 0;
  while (got < text.size()) {
    const ssize_t count = read(file->descriptor(), text.data() + got, text.size() - got);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Error{std::strerror(errno)};
    if (count == 0) break;  // the file became shorter
    got += static_cast<size_t>(count);
  }
  text.resize(got);
  return text;
}

}  // namespace tapelens::trace
