// Reads a file from front to back and keeps only a part of it in memory, because files may exceed memory.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "trace/regular_file.h"

namespace tapelens::pickle {

// An invalid pickle. Thrown within analyzer/pickle and by makers; the caller of read() catches it and returns an Error.
struct Malformed {
  uint64_t offset = 0;  // in the file
  std::string what;     // "cut off within a text"
};

// Longer texts are refused; no text in a snapshot is that long.
inline constexpr uint64_t kLongestText = uint64_t{16} << 20;

class Window {
 public:
  // Both throw Malformed at an early end of the file and on read errors. The file must outlive the window.
  explicit Window(const trace::RegularFile& file);

  uint64_t offset() const { return begin_ + at_; }
  uint64_t file_bytes() const { return file_bytes_; }
  uint64_t left() const { return file_bytes_ - offset(); }

  uint8_t byte() {
    if (at_ == filled_) fill(1);
    return static_cast<uint8_t>(bytes_[at_++]);
  }
  // An integer in little-endian order.
  template <class Number>
  Number number() {
    Number value;
    std::memcpy(&value, text(sizeof(Number)).data(), sizeof(Number));
    return value;
  }
  // Valid until the next call.
  std::string_view text(uint64_t count) {
    if (filled_ - at_ < count) fill(count);
    const std::string_view out(bytes_.data() + at_, count);
    at_ += count;
    return out;
  }
  void skip(uint64_t count) {
    if (filled_ - at_ < count) return skip_far(count);
    at_ += count;
  }

 private:
  void fill(uint64_t count);
  void skip_far(uint64_t count);

  const trace::RegularFile& file_;
  const uint64_t file_bytes_;
  std::vector<char> bytes_;
  uint64_t begin_ = 0;          // offset of `bytes_` in the file
  size_t at_ = 0, filled_ = 0;  // in bytes_
};

}  // namespace tapelens::pickle
