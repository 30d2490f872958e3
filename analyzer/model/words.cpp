#include "analyzer/model/words.h"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace tapelens::model {

std::string bytes_text(trace::Bytes bytes) {
  static constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (std::abs(bytes.value) < 1024) return std::to_string(bytes.value) + " B";
  double value = static_cast<double>(bytes.value) / 1024;
  size_t unit = 0;
  // A larger value rounds to 1024.0.
  while (std::abs(value) >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", value, kUnits[unit]);
  return text.data();
}

std::string counted(uint64_t count, std::string_view noun) {
  std::string text = std::to_string(count) + " " + std::string(noun);
  if (count != 1) text += "s";
  return text;
}

}  // namespace tapelens::model
