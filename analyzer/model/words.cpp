#include "analyzer/model/words.h"

#include <array>
#include <charconv>
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

std::optional<uint64_t> parse_bytes(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !(number >= 0)) return std::nullopt;
  std::string unit(end, text.data() + text.size());
  std::erase(unit, ' ');
  for (char& c : unit) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  if (!unit.empty() && unit != "B") {
    const size_t power = std::string_view("KMGTP").find(unit[0]);
    const std::string_view rest = std::string_view(unit).substr(1);
    const bool is_known = rest.empty() || rest == "I" || rest == "B" || rest == "IB";
    if (power == std::string_view::npos || !is_known) return std::nullopt;
    for (size_t i = 0; i <= power; ++i) number *= rest == "B" ? 1000 : 1024;
  }
  if (number >= 9.2e18) return std::nullopt;
  return static_cast<uint64_t>(number);
}

std::string hex_text(uint64_t number) {
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(number));
  return digits.data();
}

std::string count_text(uint64_t count) {
  std::string digits = std::to_string(count);
  for (size_t place = digits.size(); place > 3;) {
    place -= 3;
    digits.insert(place, ",");
  }
  return digits;
}

std::string plural(uint64_t count, std::string_view one, std::string_view many) {
  return count_text(count) + " " + std::string(count == 1 ? one : many);
}

std::string counted(uint64_t count, std::string_view noun) {
  std::string text = std::to_string(count) + " " + std::string(noun);
  if (count != 1) text += "s";
  return text;
}

}  // namespace tapelens::model
