// See output.h.
#include "trace/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "trace/checksum.h"
#include "trace/regular_file.h"
#include "trace/sealed_format.h"

namespace tapelens::trace {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr int kMostLinks = 40;       // the kernel's limit
constexpr size_t kMostOfName = 200;  // part of a file's name that its unfinished file's name keeps: names end at 255
                                     // bytes
constexpr size_t kPiece = 1U << 20;  // bytes that a copy reads at once
constexpr auto kWaitForReader = 5000ms, kPollReader = 50ms;
constexpr const char* kPart = ".XXXXXX.part";

std::string name_of(const OutputOptions& options) {
  return options.path.empty() || options.path == "-" ? "standard output" : options.path;
}

Error refused(const OutputOptions& options, const std::string& why, bool can_be_forced = false) {
  return {name_of(options) + ": " + why + ": choose " + (can_be_forced ? "another" : "a") + " file with " +
              options.option + (can_be_forced ? ", or replace it with --force" : ""),
          ErrorKind::usage};
}

Error not_written(const OutputOptions& options, int error) {
  if (error == ENXIO) return refused(options, "is a FIFO without a reader");
  const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  const std::string elsewhere = "choose another place with " + options.option;
  return {name_of(options) + ": cannot be written: " + std::strerror(error) + ": " +
          (is_full ? "free some space, or " + elsewhere : elsewhere)};
}

bool is_same(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

std::string parent_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path().string() : "."; }

// ---- the target of a name

struct Target {
  enum class Kind : uint8_t { file, stream, descriptor };
  Kind kind = Kind::file;
  std::string path;  // file: its last component is not a link
  int descriptor = -1;
  bool exists = false;
  struct stat there {};
};

// The descriptor of this process that a path in /proc/self/fd, /dev/fd or a similar folder names; -1: none.
int own_descriptor(const fs::path& path) {
  const std::string name = path.filename().string();
  if (name.empty() || name.size() > 9 || name.find_first_not_of("0123456789") != std::string::npos) return -1;
  std::error_code error;
  const std::string folder = fs::canonical(parent_of(path), error).string();
  const std::string own = "/proc/" + std::to_string(getpid()) + "/";
  const bool is_own = !error && folder.starts_with(own) && folder.ends_with("/fd");
  return is_own ? std::atoi(name.c_str()) : -1;
}

// The rule of the kernel's fs.protected_symlinks, which the kernel checks when it opens a link but not in readlink.
bool may_follow(const std::string& link, const struct stat& facts) {
  struct stat folder {};
  if (stat(parent_of(link).c_str(), &folder) != 0) return false;
  const bool is_shared = (folder.st_mode & S_ISVTX) != 0 && (folder.st_mode & S_IWOTH) != 0;
  return !is_shared || facts.st_uid == geteuid() || facts.st_uid == folder.st_uid;
}

// Only devices that keep no data: a terminal, /dev/null, /dev/zero, /dev/full.
bool is_stream(const struct stat& facts) {
  if (S_ISFIFO(facts.st_mode)) return true;
  if (!S_ISCHR(facts.st_mode)) return false;
  const unsigned number = major(facts.st_rdev), which = minor(facts.st_rdev);
  if (number == 1) return which == 3 || which == 5 || which == 7;
  return number == 4 || number == 5 || (number >= 136 && number <= 143);
}

Result<Target> target_of(const OutputOptions& options) {
  Target target;
  const auto descriptor = [&](int number) -> Result<Target> {
    const int flags = fcntl(number, F_GETFL);
    if (flags < 0 || fstat(number, &target.there) != 0) return not_written(options, errno);
    if ((flags & O_ACCMODE) == O_RDONLY) return not_written(options, EBADF);
    target.kind = Target::Kind::descriptor;
    target.descriptor = number;
    target.exists = true;
    return target;
  };
  if (options.path.empty() || options.path == "-") return descriptor(STDOUT_FILENO);
  fs::path path = options.path;
  for (int links = 0;; ++links) {
    if (const int number = own_descriptor(path); number >= 0) return descriptor(number);
    struct stat link {};
    if (lstat(path.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) break;
    if (links == kMostLinks) return not_written(options, ELOOP);
    if (!may_follow(path.string(), link)) {
      return refused(options, "is another user's link in a folder that all users can write to");
    }
    std::error_code error;
    const fs::path to = fs::read_symlink(path, error);
    if (error) return not_written(options, error.value());
    path = to.is_absolute() ? to : path.parent_path() / to;
  }
  target.path = path.string();
  if (stat(target.path.c_str(), &target.there) != 0) {
    if (errno != ENOENT) return not_written(options, errno);
    struct stat through {};
    if (stat(options.path.c_str(), &through) == 0) return refused(options, "leads to a file that has no name");
    if (!path.has_filename()) return refused(options, "is a folder");
    return target;
  }
  target.exists = true;
  const mode_t mode = target.there.st_mode;
  if (S_ISREG(mode)) return target;
  if (S_ISDIR(mode)) return refused(options, "is a folder");
  if (!is_stream(target.there)) {
    return refused(options, S_ISBLK(mode) || S_ISCHR(mode) ? "is a device" : "is a socket");
  }
  target.kind = Target::Kind::stream;
  return target;
}

// ---- checks before a write

bool is_input(const OutputOptions& options, const struct stat& there) {
  if (!S_ISREG(there.st_mode)) return false;
  return std::ranges::any_of(options.inputs, [&](const std::string& input) {
    struct stat facts {};
    return !input.empty() && stat(input.c_str(), &facts) == 0 && is_same(facts, there);
  });
}

// Up to `count` bytes from `offset`; none if they cannot be read.
std::optional<std::string> read_at(const RegularFile& file, uint64_t offset, uint64_t count) {
  std::string text(count, '\0');
  size_t got = 0;
  while (got < text.size()) {
    const ssize_t now =
        pread(file.descriptor(), text.data() + got, text.size() - got, static_cast<off_t>(offset + got));
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) return std::nullopt;
    if (now == 0) break;
    got += static_cast<size_t>(now);
  }
  text.resize(got);
  return text;
}

// A file without write permission is protected even from root.
bool is_protected(const Target& target) {
  return (target.there.st_mode & 0222) == 0 || faccessat(AT_FDCWD, target.path.c_str(), W_OK, AT_EACCESS) != 0;
}

Status may_write(const OutputOptions& options, const Target& target) {
  if (target.exists && is_input(options, target.there)) {
    return Error{name_of(options) + ": is an input of this command: choose another file with " + options.option,
                 ErrorKind::usage};
  }
  if (target.kind != Target::Kind::file) {
    if (!options.takes_streams) return refused(options, options.kind.name + " needs a regular file");
    return Done{};
  }
  if (!target.exists || options.is_forced) return Done{};
  if (is_protected(target)) return refused(options, "is write-protected", true);
  if (target.there.st_size == 0 || is_of_kind(target.path, options.kind)) return Done{};
  return refused(options, "exists, and is not a Tapelens " + options.kind.name, true);
}

mode_t usual_mode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

// Gives the new file the owner, group and mode of the replaced file, as far as permitted. Returns 0 or errno.
int take_mode(int file, const OutputOptions& options, const Target& target) {
  mode_t mode = options.mode != 0 ? options.mode : usual_mode();
  if (target.exists) {
    struct stat now {};
    if (fstat(file, &now) != 0) return errno;
    const struct stat& then = target.there;
    if (!options.sets_mode) mode = then.st_mode & 0777;
    const bool is_same_owner = then.st_uid == now.st_uid && then.st_gid == now.st_gid;
    if (!is_same_owner && fchown(file, then.st_uid, then.st_gid) != 0 && then.st_gid != now.st_gid &&
        fchown(file, static_cast<uid_t>(-1), then.st_gid) != 0) {
      mode = (mode & 0707) | ((mode & 0007) << 3);  // the file's group differs from the group that had these rights
    }
  }
  return fchmod(file, mode) == 0 ? 0 : errno;
}

// Returns 0 or errno. A file system without fsync is not an error.
int sync_to_disk(int file) {
  if (fsync(file) == 0 || errno == EINVAL || errno == ENOSYS || errno == ENOTSUP) return 0;
  return errno;
}

int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

// Waits for the reader of a FIFO. Without `needs_reader` it waits without limit, as other programs do. With it, the
// wait ends after kWaitForReader with ENXIO: the bytes already exist, and a silent wait would look like a hang.
int open_stream(const std::string& path, bool needs_reader) {
  int file = -1;
  const int flags = O_WRONLY | O_NOCTTY | O_CLOEXEC;
  for (auto waited = 0ms; file < 0; waited += kPollReader) {
    file = ::open(path.c_str(), needs_reader ? flags | O_NONBLOCK : flags);
    if (file < 0 && (errno != ENXIO || waited >= kWaitForReader)) return -1;
    if (file < 0) std::this_thread::sleep_for(kPollReader);
  }
  if (needs_reader) fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK);
  struct stat facts {};
  if (fstat(file, &facts) == 0 && is_stream(facts)) return file;
  close(file);  // another file took its place
  errno = EEXIST;
  return -1;
}

std::string spare_folder(const OutputOptions& options) {
  if (!options.spare_folder.empty()) return options.spare_folder;
  const char* folder = getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

class Closing {
 public:
  explicit Closing(int file) : file_(file) {}
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;
  ~Closing() {
    if (file_ >= 0) close(file_);
  }

 private:
  int file_;
};

}  // namespace

OutputKind marked_kind(std::string name, const std::string& mark) {
  return {.name = std::move(name), .ends = mark, .mark = mark};
}

const OutputKind& recording_kind() {
  static const OutputKind kind{.name = "recording",
                               .is_ours =
                                   [](std::string_view content) {
                                     SealedHeader header{};
                                     if (content.size() < sizeof(header)) return false;
                                     std::memcpy(&header, content.data(), sizeof(header));
                                     return header.magic == kSealedMagic &&
                                            header.checksum == checksum_of(&header, offsetof(SealedHeader, checksum));
                                   },
                               .looks_at = sizeof(SealedHeader)};
  return kind;
}

bool is_of_kind(const std::string& path, const OutputKind& kind) {
  if (kind.begins.empty() && kind.ends.empty() && !kind.is_ours) return false;
  const auto file = RegularFile::open(path);
  if (!file || file->bytes() < kind.begins.size() + kind.ends.size()) return false;
  if (read_at(*file, 0, kind.begins.size()) != kind.begins) return false;
  if (read_at(*file, file->bytes() - kind.ends.size(), kind.ends.size()) != kind.ends) return false;
  if (!kind.is_ours) return true;
  const auto content = read_at(*file, 0, std::min<uint64_t>(file->bytes(), kind.looks_at));
  return content && kind.is_ours(*content);
}

Status Output::check(const OutputOptions& options) {
  const auto target = target_of(options);
  if (!target) return target.error();
  if (auto may = may_write(options, *target); !may) return may;
  if (target->kind != Target::Kind::file) return Done{};
  // Report an unwritable folder before the work. The target may still change until the end of the work.
  if (faccessat(AT_FDCWD, parent_of(target->path).c_str(), W_OK | X_OK, AT_EACCESS) == 0) return Done{};
  return not_written(options, errno);
}

Result<Output> Output::open(OutputOptions options) {
  const auto target = target_of(options);
  if (!target) return target.error();
  if (auto may = may_write(options, *target); !may) return may.error();
  Output out;
  out.is_file_ = target->kind == Target::Kind::file;
  out.options_ = std::move(options);
  if (!out.is_file_ && !out.options_.needs_file) {
    std::fflush(stdout);
    const bool is_path = target->kind == Target::Kind::stream;
    out.descriptor_ = is_path ? open_stream(target->path, out.options_.needs_reader) : target->descriptor;
    out.is_owned_ = is_path;
    if (out.descriptor_ < 0) return not_written(out.options_, errno);
    return out;
  }
  const fs::path path = target->path;
  // A random name, at which no other user can have put a link.
  out.part_ = out.is_file_ ? (path.parent_path() / path.filename().string().substr(0, kMostOfName)).string() + kPart
                           : spare_folder(out.options_) + "/tapelens" + kPart;
  out.descriptor_ = mkostemps(out.part_.data(), 5, O_CLOEXEC);
  if (out.descriptor_ < 0) {
    const int error = errno;
    out.part_.clear();
    return not_written(out.options_, error);
  }
  out.is_owned_ = true;
  if (out.options_.unfinished) out.options_.unfinished(out.part_);
  return out;
}

Output::Output(Output&& other) noexcept
    : options_(std::move(other.options_)),
      part_(std::exchange(other.part_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      is_file_(other.is_file_),
      is_owned_(std::exchange(other.is_owned_, false)) {}

Output& Output::operator=(Output&& other) noexcept {
  std::swap(options_, other.options_);
  std::swap(part_, other.part_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(is_file_, other.is_file_);
  std::swap(is_owned_, other.is_owned_);
  return *this;
}

Output::~Output() { drop(); }

void Output::drop() {
  if (is_owned_ && descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
  if (part_.empty()) return;
  unlink(part_.c_str());
  part_.clear();
  if (options_.unfinished) options_.unfinished({});
}

std::string Output::name() const { return name_of(options_); }

Error Output::failed(int error) const { return not_written(options_, error); }

Error Output::failed(const std::string& why) const {
  return {name_of(options_) + ": cannot be written: " + why + ": choose another place with " + options_.option};
}

Status Output::write(std::string_view bytes) {
  const int error = write_all(descriptor_, bytes);
  // A reader that closed its end early is not an error.
  if (error == 0 || (error == EPIPE && part_.empty() && !options_.needs_reader)) return Done{};
  return failed(error);
}

Status Output::finish() {
  Status done = is_file_ ? put_in_place() : part_.empty() ? Status(Done{}) : copy_to_stream();
  drop();
  return done;
}

Status Output::put_in_place() {
  // By name: a writer may have replaced the file.
  const int file = ::open(part_.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return failed(errno);
  const Closing closing(file);
  struct stat facts {};
  if (fstat(file, &facts) != 0) return failed(errno);
  if (facts.st_size > 0 && !options_.kind.mark.empty()) {
    if (lseek(file, 0, SEEK_END) < 0) return failed(errno);
    if (const int error = write_all(file, options_.kind.mark)) return failed(error);
  }
  for (int tries = 0;; ++tries) {
    // The work may have taken hours: resolve the target again.
    const auto target = target_of(options_);
    if (!target) return target.error();
    if (target->kind != Target::Kind::file) return refused(options_, "is not a regular file any more");
    if (auto may = may_write(options_, *target); !may) return may;
    if (const int error = take_mode(file, options_, *target)) return failed(error);
    if (const int error = sync_to_disk(file)) return failed(error);
    if (options_.is_new && target->exists) return failed(EEXIST);
    if (!target->exists) {
      if (renameat2(AT_FDCWD, part_.c_str(), AT_FDCWD, target->path.c_str(), RENAME_NOREPLACE) == 0) break;
      if (errno == EEXIST && tries < 3) continue;
      if (errno != EINVAL && errno != ENOSYS) return failed(errno);
    }
    if (options_.is_new) {  // the file system cannot rename without replacing, but a link never replaces
      if (link(part_.c_str(), target->path.c_str()) != 0) return failed(errno);
      unlink(part_.c_str());
      break;
    }
    if (std::rename(part_.c_str(), target->path.c_str()) != 0) return failed(errno);
    break;
  }
  part_.clear();
  if (options_.unfinished) options_.unfinished({});
  return Done{};
}

Status Output::copy_to_stream() {
  const int from = ::open(part_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (from < 0) return failed(errno);
  const Closing closing_from(from);
  const auto target = target_of(options_);
  if (!target) return target.error();
  if (target->kind == Target::Kind::file) return refused(options_, "is a regular file now");
  const bool is_path = target->kind == Target::Kind::stream;
  std::fflush(stdout);
  const int to = is_path ? open_stream(target->path, options_.needs_reader) : target->descriptor;
  if (to < 0) return failed(errno);
  const Closing closing_to(is_path ? to : -1);
  std::string piece(kPiece, '\0');
  while (true) {
    const ssize_t got = read(from, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(errno);
    if (got == 0) return Done{};
    const int error = write_all(to, std::string_view(piece).substr(0, static_cast<size_t>(got)));
    if (error == EPIPE && !options_.needs_reader) return Done{};
    if (error != 0) return failed(error);
  }
}

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat facts_of_a {
  }, facts_of_b{};
  if (stat(a.c_str(), &facts_of_a) == 0 && stat(b.c_str(), &facts_of_b) == 0) {
    return S_ISREG(facts_of_a.st_mode) && is_same(facts_of_a, facts_of_b);
  }
  std::error_code error;
  const auto full = [&](const std::string& path) { return fs::weakly_canonical(fs::absolute(path, error), error); };
  return full(a) == full(b) && !error;
}

int descriptor_of(const std::string& path) {
  const auto target = target_of({.path = path});
  return target && target->kind == Target::Kind::descriptor ? target->descriptor : -1;
}

uint32_t mode_of_made(const std::vector<std::string>& files) {
  uint32_t mode = files.empty() ? 0600 : 0666;
  for (const std::string& file : files) {
    struct stat facts {};
    mode &= stat(file.c_str(), &facts) == 0 ? facts.st_mode : 0600U;
  }
  return mode | 0600;
}

}  // namespace tapelens::trace
