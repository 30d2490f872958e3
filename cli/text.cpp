#include "cli/text.h"

#include <algorithm>
#include <charconv>
#include <numeric>

namespace tapelens::cli {

std::optional<std::string> parse_steps(std::string_view text) {
  const size_t colon = text.find(':');
  const auto number = [](std::string_view digits, uint64_t& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  uint64_t first = 0, last = UINT64_MAX;
  if (colon == std::string_view::npos) {
    if (!number(text, first) || first == UINT64_MAX) return std::nullopt;
    return std::to_string(first) + ":" + std::to_string(first + 1);
  }
  const std::string_view before = text.substr(0, colon), after = text.substr(colon + 1);
  if (before.empty() && after.empty()) return std::nullopt;
  if (!before.empty() && !number(before, first)) return std::nullopt;
  if (!after.empty() && !number(after, last)) return std::nullopt;
  if (first >= last) return std::nullopt;
  return std::to_string(first) + ":" + (after.empty() ? std::string() : std::to_string(last));
}

std::optional<uint32_t> parse_mode(std::string_view text) {
  uint32_t mode = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  if (error != std::errc() || end != text.data() + text.size() || mode > 0777 || (mode & 0600) != 0600) return {};
  return mode;
}

std::optional<int64_t> parse_duration(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !(number > 0)) return std::nullopt;
  const std::string_view unit(end, text.data() + text.size());
  const double scale = unit.empty() || unit == "s" ? 1e9 : unit == "m" ? 60e9 : unit == "h" ? 3600e9 : 0;
  if (scale == 0 || number * scale < 1 || number * scale > 9e18) return std::nullopt;
  return static_cast<int64_t>(number * scale);
}

std::optional<uint64_t> parse_peak(std::string_view text) {
  std::string bare(text);
  std::erase(bare, ' ');
  constexpr std::string_view kPeak = "peak>";
  if (!bare.starts_with(kPeak)) return std::nullopt;
  const auto bytes = parse_bytes(bare.substr(kPeak.size()));
  return bytes && *bytes > 0 ? bytes : std::nullopt;
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += between;
    text += word;
  }
  return text;
}

std::string first_error(std::string_view output) {
  std::string_view last;
  while (!output.empty()) {
    const size_t end = std::min(output.find('\n'), output.size());
    const std::string_view line = output.substr(0, end);
    output.remove_prefix(std::min(end + 1, output.size()));
    for (const std::string_view sign : {" error: ", "undefined reference"}) {
      if (line.find(sign) != std::string_view::npos) return std::string(line);
    }
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) last = line;
  }
  return std::string(last);
}

namespace {

// Optimal string alignment: swapped neighbors count as one mistake, because they are one typing error.
size_t mistakes(std::string_view a, std::string_view b) {
  std::vector<size_t> older(b.size() + 1), old(b.size() + 1), row(b.size() + 1);
  std::iota(old.begin(), old.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({old[j] + 1, row[j - 1] + 1, old[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], older[j - 2] + 1);
    }
    older.swap(old);
    old.swap(row);
  }
  return old[b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& words) {
  std::optional<std::string> best;
  size_t fewest = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : words) {
    const size_t count = candidate.starts_with(word) && word.size() >= 2 ? 1 : mistakes(word, candidate);
    if (count < fewest && count < candidate.size()) {
      fewest = count;
      best = candidate;
    }
  }
  return best;
}

}  // namespace tapelens::cli
