#include "analyzer/fit/sizes.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

namespace tapelens::fit {
namespace {

constexpr uint64_t kLargest = uint64_t{1} << 53;  // JSON readers do not support larger integers

std::optional<uint64_t> number(std::string_view text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value == 0 || value > kLargest) return std::nullopt;
  return value;
}

// Adds one part of the list; false if it is invalid.
bool add(std::string_view part, std::vector<uint64_t>& sizes, bool& too_many) {
  const size_t dots = part.find("..");
  if (dots == std::string_view::npos) {
    const auto size = number(part);
    if (size) sizes.push_back(*size);
    return size.has_value();
  }
  std::string_view to = part.substr(dots + 2);
  std::optional<uint64_t> step = 1;
  if (const size_t colon = to.find(':'); colon != std::string_view::npos) {
    step = number(to.substr(colon + 1));
    to = to.substr(0, colon);
  }
  const auto first = number(part.substr(0, dots)), last = number(to);
  if (!first || !last || !step || *last < *first) return false;
  const uint64_t begin = (*first + *step - 1) / *step * *step;
  if (begin > *last) return false;
  if ((*last - begin) / *step >= kMostSizes - std::min(sizes.size(), kMostSizes)) {
    too_many = true;
    return false;
  }
  for (uint64_t size = begin; size <= *last; size += *step) sizes.push_back(size);
  return true;
}

}  // namespace

trace::Result<std::vector<uint64_t>> parse_sizes(std::string_view text) {
  std::vector<uint64_t> sizes;
  for (std::string_view rest = text;;) {
    const size_t comma = std::min(rest.find(','), rest.size());
    bool too_many = false;
    if (!add(rest.substr(0, comma), sizes, too_many)) {
      const std::string why = too_many ? "' are more than 1,000,000 sizes: use multiples, like 1000..9000000:1000"
                                       : "' is not a list of sizes, like 1..256, 8..512:8 (multiples of 8) or 8,16,32";
      return trace::Error{"'" + std::string(text) + why, trace::ErrorKind::usage};
    }
    if (comma == rest.size()) break;
    rest = rest.substr(comma + 1);
  }
  std::ranges::sort(sizes);
  const auto again = std::ranges::unique(sizes);
  sizes.erase(again.begin(), again.end());
  return sizes;
}

}  // namespace tapelens::fit
