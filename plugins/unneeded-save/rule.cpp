#include "plugins/unneeded-save/rule.h"

#include <algorithm>
#include <tuple>

namespace tapelens::plugins::unneeded_save {
namespace {

// Calls with each "name=value" until one call returns true. Values hold no commas: bools, integers, names of modes.
template <class Call>
bool any_piece(std::string_view text, Call call) {
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    if (call(text.substr(0, end))) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

}  // namespace

std::optional<std::span<const Need>> needs_of(std::string_view torch_version) {
  for (size_t i = 0; i < kMinors; ++i) {
    const NeedsOfMinor& of = kNeedsOfMinors[i];
    if (torch_version.starts_with(of.minor) && torch_version.substr(of.minor.size()).starts_with('.')) return of.rows;
  }
  return std::nullopt;
}

std::span<const Need> needs_of(std::span<const Need> rows, std::string_view node, std::string_view field) {
  const auto key = [](const Need& need) { return std::tie(need.node, need.field); };
  const auto found = std::ranges::equal_range(rows, std::tie(node, field), {}, key);
  return {found.begin(), found.end()};
}

bool holds(const Need& need, uint64_t wanted, std::string_view attributes) {
  if (need.wanted != kAnyWanted && need.wanted != wanted) return false;
  return !any_piece(need.when, [&](std::string_view asked) {
    return !any_piece(attributes, [&](std::string_view said) { return said == asked; });
  });
}

}  // namespace tapelens::plugins::unneeded_save
