#include "analyzer/export/sink.h"

#include <unistd.h>

#include <cerrno>

namespace tapelens::exporting {

void Sink::flush() {
  write_out(buffer_);
  buffer_.clear();
}

void Sink::write_out(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw WriteFailed{written < 0 ? errno : EIO, {}};
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace tapelens::exporting
