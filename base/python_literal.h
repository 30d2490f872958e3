// Text for Python code that is made at run time.
#pragma once

#include <string>
#include <string_view>

namespace tapelens::base {

// A literal of Python's bytes.
inline std::string bytes_literal(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string literal = "b'";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    literal += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return literal + "'";
}

}  // namespace tapelens::base
