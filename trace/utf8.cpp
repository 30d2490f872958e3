// See utf8.h.
#include "trace/utf8.h"

#include <cstdint>

namespace tapelens::trace {

size_t sequence_length(std::string_view text) {
  const auto at = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0}; };
  const auto is_tail = [&](size_t i) { return (at(i) & 0xc0) == 0x80; };
  const uint8_t first = at(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return is_tail(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool is_second = is_tail(1) && !(first == 0xe0 && at(1) < 0xa0) && !(first == 0xed && at(1) > 0x9f);
    return is_second && is_tail(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool is_second = is_tail(1) && !(first == 0xf0 && at(1) < 0x90) && !(first == 0xf4 && at(1) > 0x8f);
    return is_second && is_tail(2) && is_tail(3) ? 4 : 0;
  }
  return 0;
}

std::string as_utf8(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const size_t length = sequence_length(text);
    if (length == 0) {
      clean += "\xef\xbf\xbd";
    } else {
      clean += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return clean;
}

}  // namespace tapelens::trace
