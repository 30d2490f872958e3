// Where an export's bytes go: a descriptor with a buffer before it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tapelens::exporting {

// Thrown where nothing more can be written, and caught in export_recording(): no exception leaves the library.
struct WriteFailed {
  int error = 0;        // errno; EPIPE: the reader has seen enough
  std::string message;  // of a library that says it in words; else empty
};

class Sink {
 public:
  explicit Sink(int descriptor) : descriptor_(descriptor) { buffer_.reserve(kBuffer); }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  void write(std::string_view bytes) {
    if (buffer_.size() + bytes.size() > kBuffer) flush();
    if (bytes.size() > kBuffer) {
      write_out(bytes);
    } else {
      buffer_ += bytes;
    }
  }
  void write(char byte) { write(std::string_view(&byte, 1)); }
  void flush();

 private:
  static constexpr size_t kBuffer = size_t{1} << 20;
  void write_out(std::string_view bytes) const;

  const int descriptor_;
  std::string buffer_;
};

}  // namespace tapelens::exporting
