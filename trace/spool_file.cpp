// See spool_file.h.
#include "trace/spool_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tapelens::trace {
namespace {

constexpr uint64_t kMostReserve = uint64_t{1} << 30;

// The program gets the lowest free descriptors. Ours are far above them: the program cannot close one and get the same
// number in another thread at the same time.
int lowest_number() {
  struct rlimit limit {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t most = std::min<rlim_t>(limit.rlim_cur, 4096);
  return static_cast<int>(most - most / 8);
}

Loss loss_of_opening(int error) {
  if (error == EMFILE || error == ENFILE) return Loss::no_descriptor;
  if (error == ENOMEM) return Loss::no_memory;
  return Loss::unreachable;
}

// The reserve that every disk keeps free for the program: 5 % of the disk, 1 GiB at most.
bool leaves_the_reserve(int file, uint64_t bytes) {
  struct statvfs disk {};
  if (fstatvfs(file, &disk) != 0 || disk.f_blocks == 0) return true;  // the file system does not report its size
  const uint64_t block = disk.f_frsize != 0 ? disk.f_frsize : disk.f_bsize;
  return disk.f_bavail * block >= bytes + std::min(disk.f_blocks * block / 20, kMostReserve);
}

}  // namespace

bool SpoolFile::is_this(int file) const {
  struct stat facts {};
  return file >= 0 && fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && uint64_t(facts.st_dev) == device_ &&
         uint64_t(facts.st_ino) == inode_;
}

// The file, open for the lifetime of this object.
class SpoolFile::Descriptor {
 public:
  Descriptor(const SpoolFile& file, Loss& why) {
    // Another thread may close every descriptor between any two of these lines.
    for (int i = 0; i < 8 && number_ < 0; ++i) {
      if (!open(file, why)) return;
    }
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  // Returns false if another try cannot help.
  bool open(const SpoolFile& file, Loss& why) {
    const int low = ::open(file.path_, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
    if (low < 0) {
      why = loss_of_opening(errno);
      return errno == EINTR;
    }
    if (!file.is_this(low)) {
      why = Loss::unreachable;
      close_other(file.path_, low);
      return false;
    }
    const int high = fcntl(low, F_DUPFD_CLOEXEC, lowest_number());
    const int error = errno;
    // If the low number is another file by now, the program owns it: leave it open.
    if (file.is_this(low)) ::close(low);
    if (high < 0) {
      why = Loss::no_descriptor;
      return error == EBADF;
    }
    if (file.is_this(high)) {
      number_ = high;
    } else {
      ::close(high);
      why = Loss::unreachable;
    }
    return true;
  }
  // Closes a file that replaced ours at the path. Any other file at that number belongs to the program.
  static void close_other(const char* path, int low) {
    struct stat opened {
    }, named{};
    if (fstat(low, &opened) == 0 && lstat(path, &named) == 0 && opened.st_dev == named.st_dev &&
        opened.st_ino == named.st_ino)
      ::close(low);
  }

  int number_ = -1;
};

namespace {

bool write_zeros(int file, uint64_t offset, uint64_t bytes) {
  static const char zeros[16384] = {};
  while (bytes > 0) {
    const ssize_t written = pwrite(file, zeros, bytes < sizeof(zeros) ? bytes : sizeof(zeros), off_t(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    offset += uint64_t(written);
    bytes -= uint64_t(written);
  }
  return true;
}

// Reserves disk space for `bytes` at `offset`; returns errno on failure. A mapped page without reserved space would
// raise SIGBUS in the user's program once the disk is full.
bool reserve_on_disk(int file, uint64_t offset, uint64_t bytes) {
  int answer;
  do {
    answer = fallocate(file, 0, off_t(offset), off_t(bytes));
  } while (answer != 0 && errno == EINTR);
  if (answer != 0 && (errno == EOPNOTSUPP || errno == ENOSYS)) answer = write_zeros(file, offset, bytes) ? 0 : -1;
  return answer == 0;
}

}  // namespace

int SpoolFile::create(const char* path) {
  size_t used = 0;
  if (path[0] != '/') {
    if (getcwd(path_, sizeof(path_) - 1) == nullptr) return errno;
    used = std::strlen(path_);
    path_[used++] = '/';
  }
  const size_t bytes = std::strlen(path);
  if (used + bytes >= sizeof(path_)) return ENAMETOOLONG;
  std::memcpy(path_ + used, path, bytes + 1);

  const int file = ::open(path_, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return errno;
  struct stat facts {};
  // Independent of the program's umask, because later calls open the file again.
  const int error = fchmod(file, 0600) == 0 && fstat(file, &facts) == 0 ? 0 : errno;
  device_ = facts.st_dev;
  inode_ = facts.st_ino;
  if (error == 0 && is_this(file)) ::close(file);
  return error;
}

void* SpoolFile::extend(uint64_t offset, uint64_t bytes, Loss& why) {
  // Growing past RLIMIT_FSIZE raises SIGXFSZ, which would kill the program.
  struct rlimit limit {};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && offset + bytes > limit.rlim_cur) {
    why = Loss::file_size_limit;
    return nullptr;
  }
  for (int i = 0; i < 8; ++i) {
    const Descriptor file(*this, why);
    if (file.number() < 0) return nullptr;
    if (!leaves_the_reserve(file.number(), bytes)) {
      why = Loss::disk_reserve;
      return nullptr;
    }
    if (!reserve_on_disk(file.number(), offset, bytes)) {
      if (errno == EBADF) continue;  // another thread closed it
      why = errno == EFBIG ? Loss::file_size_limit : Loss::disk_full;
      // Release the reserved part: the program may need it. A failure here does not affect the spool.
      if (is_this(file.number()) && ftruncate(file.number(), off_t(offset)) != 0) why = Loss::disk_full;
      return nullptr;
    }
    const size_t before = into_page(offset);
    void* place =
        mmap(nullptr, before + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), off_t(offset - before));
    if (place == MAP_FAILED) {
      if (errno == EBADF) continue;
      why = Loss::no_memory;
      return nullptr;
    }
    // Write to the mapping only if the number was our file all the time.
    if (is_this(file.number())) return static_cast<std::byte*>(place) + before;
    munmap(place, before + bytes);
    why = Loss::unreachable;
  }
  return nullptr;
}

void SpoolFile::cut(uint64_t bytes) {
  Loss why{};
  const Descriptor file(*this, why);
  if (file.number() < 0 || !is_this(file.number())) return;
  [[maybe_unused]] const int answer = ftruncate(file.number(), off_t(bytes));
}

void SpoolFile::remove() {
  struct stat facts {};
  if (lstat(path_, &facts) == 0 && uint64_t(facts.st_dev) == device_ && uint64_t(facts.st_ino) == inode_) unlink(path_);
}

}  // namespace tapelens::trace
