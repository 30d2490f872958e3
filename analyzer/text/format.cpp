#include "analyzer/text/format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace tapelens::text {

std::string time_text(model::Time time) {
  std::array<char, 40> text{};
  const auto ns = static_cast<double>(time.ns);
  if (time.ns >= 1'000'000'000) {
    std::snprintf(text.data(), text.size(), "%.3f s", ns / 1e9);
  } else if (time.ns >= 1'000'000) {
    std::snprintf(text.data(), text.size(), "%.1f ms", ns / 1e6);
  } else if (time.ns >= 1'000) {
    std::snprintf(text.data(), text.size(), "%.1f us", ns / 1e3);
  } else {
    std::snprintf(text.data(), text.size(), "%.0f ns", ns);
  }
  return text.data();
}

namespace {
bool is_one_figure(model::Bytes least, model::Bytes most) { return most.value - least.value <= least.value / 100; }
}  // namespace

std::string bounds_text(model::Bytes least, model::Bytes most) {
  return bytes_text(least) + (is_one_figure(least, most) ? "" : " to " + bytes_text(most));
}

std::string bounds_text(model::Bytes before, model::Bytes least, model::Bytes most) {
  const auto change = [&](model::Bytes after) {
    const bool is_less = after < before;
    return (is_less ? "-" : "+") + percent_text(is_less ? before - after : after - before, before);
  };
  return change(least) + (is_one_figure(least, most) ? "" : " to " + change(most));
}

std::string percent_text(model::Bytes part, model::Bytes whole) {
  if (whole.value <= 0) return "0.0 %";
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%.1f %%",
                100.0 * static_cast<double>(part.value) / static_cast<double>(whole.value));
  return text.data();
}

std::string bar(double fraction, unsigned cells) {
  static constexpr std::array<const char*, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  fraction = std::clamp(fraction, 0.0, 1.0);
  auto eighths = static_cast<unsigned>(std::lround(fraction * cells * 8));
  if (fraction > 0 && eighths == 0) eighths = 1;
  std::string out;
  for (unsigned i = 0; i < eighths / 8; ++i) out += "█";
  return out + kEighths[eighths % 8];
}

std::string sparkline(const std::vector<int64_t>& values, unsigned cells) {
  static constexpr std::array<const char*, 8> kLevels = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (values.empty() || cells == 0) return "";
  const size_t count = std::min<size_t>(values.size(), cells);
  std::vector<int64_t> folded(count, INT64_MIN);
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t& cell = folded[i * count / values.size()];
    cell = std::max(cell, values[i]);
  }
  const auto [low, high] = std::ranges::minmax(folded);
  std::string out;
  for (const int64_t value : folded) {
    // Equal values: a line in the middle shows this better than a row of the lowest character.
    const double height = high == low ? 0.5 : static_cast<double>(value - low) / static_cast<double>(high - low);
    out += kLevels[static_cast<size_t>(std::lround(height * 7))];
  }
  return out;
}

namespace {
bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// The byte at which the n-th character begins.
size_t place_of(std::string_view text, size_t n) {
  size_t place = 0;
  for (; place < text.size(); ++place) {
    if (starts_character(text[place]) && n-- == 0) break;
  }
  return place;
}
}  // namespace

unsigned columns(std::string_view utf8) { return static_cast<unsigned>(std::ranges::count_if(utf8, starts_character)); }

std::string fit(std::string_view utf8, unsigned width) {
  const unsigned length = columns(utf8);
  if (length <= width) return std::string(utf8);
  if (width == 0) return "";
  const unsigned head = (width - 1) / 2, tail = width - 1 - head;
  std::string out(utf8.substr(0, place_of(utf8, head)));
  out += "…";
  out += utf8.substr(place_of(utf8, length - tail));
  return out;
}

std::string pad_right(std::string_view utf8, unsigned width) {
  const unsigned length = columns(utf8);
  return std::string(utf8) + std::string(length < width ? width - length : 0, ' ');
}

std::string pad_left(std::string_view utf8, unsigned width) {
  const unsigned length = columns(utf8);
  return std::string(length < width ? width - length : 0, ' ') + std::string(utf8);
}

}  // namespace tapelens::text
