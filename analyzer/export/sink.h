// The output of an export: a descriptor with a buffer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tapelens::exporting {

// Thrown if writing fails. export_recording() catches it; no exception leaves the library.
struct WriteFailed {
  int error = 0;        // errno; EPIPE: the reader closed early
  std::string message;  // the message of a library, if it has one; else empty
};

class ByteSink {
 public:
  explicit ByteSink(int descriptor) : descriptor_(descriptor) { buffer_.reserve(kBuffer); }
  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;

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
