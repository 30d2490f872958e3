#include "analyzer/export/export.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace tapelens::exporting {
namespace {

using trace::Done;
using trace::Error;
using trace::ErrorKind;
using trace::Status;

Error not_written(const std::string& path, int error) {
  const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return {path + ": cannot be written: " + std::strerror(error) + ": " +
          (is_full ? "free some space, or choose another place with -o" : "choose another place with -o")};
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  // An error's number, 0 if what was written is there.
  int finish() {
    const int number = std::exchange(number_, -1);
    return close(number) == 0 ? 0 : errno;
  }

 private:
  int number_;
};

// Why it may not be replaced; nothing if it may.
Status may_replace(const std::string& path, const struct stat& there, const Format& format, const Target& target) {
  struct stat recording {};
  if (stat(target.recording.c_str(), &recording) == 0 && recording.st_dev == there.st_dev &&
      recording.st_ino == there.st_ino) {
    return Error{path + ": is the recording itself: choose another file with -o", ErrorKind::usage};
  }
  if (target.is_forced || there.st_size == 0) return Done{};
  std::array<char, kMarkWithin> head{};
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const ssize_t count = file.is_open() ? read(file.number(), head.data(), head.size()) : -1;
  const std::string_view begin(head.data(), count > 0 ? static_cast<size_t>(count) : 0);
  if (begin.find(format.mark) != std::string_view::npos) return Done{};
  return Error{path + ": exists, and is no " + format.name +
                   " export of Tapelens: choose another file with -o, or replace it with --force",
               ErrorKind::usage};
}

Status into_descriptor(Subjects& subjects, const Format& format, int descriptor, const std::string& name) {
  try {
    Sink sink(descriptor);
    format.stream(subjects, sink);
    sink.flush();
  } catch (const WriteFailed& failed) {
    if (failed.error != EPIPE) return not_written(name, failed.error);  // else its reader has seen enough
  }
  return Done{};
}

// A file that goes with the object unless it was renamed. Its name is made up, so that nobody can have put a link
// there.
class Part {
 public:
  Part(const std::string& target, const std::function<void(const std::string&)>& making)
      : path_(target + ".XXXXXX.part"), descriptor_(mkostemps(path_.data(), 5, O_CLOEXEC)), making_(making) {
    if (!descriptor_.is_open()) {
      error_ = errno;
      path_.clear();
    } else if (making_) {
      making_(path_);
    }
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  ~Part() {
    if (path_.empty()) return;
    unlink(path_.c_str());
    if (making_) making_({});
  }

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_.number(); }
  int error() const { return error_; }  // why there is none
  // An error's number. As a program would have made it: with the permissions that the user's mask leaves.
  int rename_to(const std::string& target, mode_t mode) {
    if (fchmod(descriptor(), mode) != 0) return errno;
    if (const int error = descriptor_.finish()) return error;
    if (std::rename(path_.c_str(), target.c_str()) != 0) return errno;
    if (making_) making_({});
    path_.clear();
    return 0;
  }

 private:
  std::string path_;
  Descriptor descriptor_;
  const std::function<void(const std::string&)>& making_;
  int error_ = 0;
};

mode_t usual_mode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

Status into_file(Subjects& subjects, const Format& format, const std::string& path, mode_t mode,
                 const std::function<void(const std::string&)>& making) {
  Part part(path, making);
  if (part.path().empty()) return not_written(path, part.error());
  if (format.file != nullptr) {
    try {
      format.file(subjects, part.path());
    } catch (const WriteFailed& failed) {
      if (failed.message.empty()) return not_written(path, failed.error);
      return Error{path + ": cannot be written: " + failed.message + ": choose another place with -o"};
    }
  } else if (auto written = into_descriptor(subjects, format, part.descriptor(), path); !written) {
    return written;
  }
  if (const int error = part.rename_to(path, mode)) return not_written(path, error);
  return Done{};
}

// Where a link leads to, whether something is there or not: that is what is replaced.
std::string without_links(std::filesystem::path path) {
  std::error_code error;
  for (int links = 0; links < 40 && std::filesystem::is_symlink(path, error); ++links) {  // as the kernel follows them
    const auto to = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = to.is_absolute() ? to : path.parent_path() / to;
  }
  return path.string();
}

}  // namespace

Status export_recording(const trace::Recording& recording, const Wanted& wanted, const Format& format,
                        const Target& target, const std::function<void(const std::string&)>& making) {
  try {
    const bool to_output = target.path == "-";
    if (to_output && format.stream == nullptr) {
      return Error{std::string(format.name) + " is no stream: choose a file with -o", ErrorKind::usage};
    }
    struct stat there {};
    const bool exists = !to_output && stat(target.path.c_str(), &there) == 0;
    const bool is_plain = !exists || S_ISREG(there.st_mode);
    if (exists && S_ISDIR(there.st_mode)) {
      return Error{target.path + ": is a folder: choose a file with -o", ErrorKind::usage};
    }
    if (!is_plain && format.stream == nullptr) {
      return Error{target.path + ": is no regular file: " + format.name + " needs one", ErrorKind::usage};
    }
    if (exists && is_plain) {
      if (auto may = may_replace(target.path, there, format, target); !may) return may;
    }
    Subjects subjects(recording, wanted);
    if (to_output) return into_descriptor(subjects, format, STDOUT_FILENO, "standard output");
    if (is_plain) {
      const mode_t mode = exists ? there.st_mode & 0777 : usual_mode();
      return into_file(subjects, format, without_links(target.path), mode, making);
    }
    const Descriptor file(open(target.path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file.is_open()) return not_written(target.path, errno);
    return into_descriptor(subjects, format, file.number(), target.path);
  } catch (const CannotExport& why) {
    const std::string name = target.recording.empty() ? "the recording" : target.recording;
    return Error{name + ": " + why.error.message, why.error.kind};
  }
}

}  // namespace tapelens::exporting
