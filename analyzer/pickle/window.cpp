#include "analyzer/pickle/window.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace tapelens::pickle {

namespace {
constexpr size_t kBytes = size_t{1} << 20;
}

Window::Window(const trace::RegularFile& file) : file_(file), file_bytes_(file.bytes()), bytes_(kBytes) {}

void Window::fill(uint64_t count) {
  if (count > left()) throw Malformed{offset(), "the file is cut off, or says more than it has"};
  if (count > kLongestText) throw Malformed{offset(), "a text of more than 16 MiB"};
  std::copy(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), bytes_.begin() + static_cast<std::ptrdiff_t>(filled_),
            bytes_.begin());
  begin_ += at_;
  filled_ -= at_;
  at_ = 0;
  if (count > bytes_.size()) bytes_.resize(count);
  while (filled_ < count) {
    const ssize_t got = pread(file_.descriptor(), bytes_.data() + filled_, bytes_.size() - filled_,
                              static_cast<off_t>(begin_ + filled_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Malformed{offset(), std::string("cannot be read: ") + std::strerror(errno)};
    if (got == 0) throw Malformed{offset(), "the file became shorter while it was read"};
    filled_ += static_cast<size_t>(got);
  }
}

void Window::skip_far(uint64_t count) {
  if (count > left()) throw Malformed{offset(), "the file is cut off, or says more than it has"};
  begin_ = offset() + count;
  at_ = filled_ = 0;
}

}  // namespace tapelens::pickle
