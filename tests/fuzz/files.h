// Files in memory for the harnesses: the code under test opens paths.
#pragma once

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace tapelens::fuzz {

// Aborts if a property does not hold that must hold for every input. (A harness that returns -1 only keeps the input
// out of the corpus.)
inline void must(bool holds) {
  if (!holds) abort();
}

class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(memfd_create("input", MFD_CLOEXEC)) {
    for (size_t at = 0; at < bytes.size();) {
      const ssize_t count = ::write(descriptor_, bytes.data() + at, bytes.size() - at);
      if (count <= 0) abort();
      at += static_cast<size_t>(count);
    }
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(descriptor_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

// One folder for the whole run, with one file in it.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/tapelens-fuzz-XXXXXX";
    if (mkdtemp(name) == nullptr) abort();
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string put(const std::string& name, std::string_view bytes) const {
    const std::string file = path_ + "/" + name;
    std::ofstream(file, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return file;
  }

 private:
  std::string path_;
};

}  // namespace tapelens::fuzz
