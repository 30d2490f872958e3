#include "analyzer/peak/groups.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "analyzer/model/words.h"
#include "analyzer/peak/keys.h"

namespace tapelens::peak {

namespace {

// The sum of a group. Groups are numbers first, and get names once at the end, because a peak set may have a million
// members.
struct Sum {
  Bytes bytes;
  uint64_t allocations = 0;
  uint32_t biggest = UINT32_MAX;  // members are in the order of bytes: the first one
};
using Sums = std::unordered_map<uint64_t, Sum>;

}  // namespace

std::optional<By> parse_by(std::string_view word) {
  const auto at = std::ranges::find(kByNames, word);
  if (at == std::end(kByNames)) return std::nullopt;
  return static_cast<By>(at - kByNames);
}

const char* by_name(By by) { return kByNames[static_cast<size_t>(by)]; }

std::vector<AllocationGroup> groups(const Process& process, const Text& text, const std::vector<Step>& steps,
                                    const PeakSet& set, By by) {
  Keys keys(process, text, steps, by);
  Sums sums;
  for (uint32_t at = 0; at < set.members.size(); ++at) {
    const Member& member = set.members[at];
    Sum& sum = sums[keys.key(member.allocation, main_holder(set.holders_of(member)))];
    sum.bytes += member.bytes;
    ++sum.allocations;
    sum.biggest = std::min(sum.biggest, at);
  }
  // Keys with the same name form one group: two frames of one line, or a string that two processes interned.
  std::map<std::string, Sum> by_name;
  std::vector<uint64_t> all;
  for (const auto& [key, sum] : sums) all.push_back(key);
  for (const auto& [key, name] : keys.names(all)) {
    Sum& sum = by_name[name];
    sum.bytes += sums.at(key).bytes;
    sum.allocations += sums.at(key).allocations;
    sum.biggest = std::min(sum.biggest, sums.at(key).biggest);
  }
  std::vector<AllocationGroup> out;
  for (const auto& [name, sum] : by_name) out.push_back({name, sum.bytes, sum.allocations, sum.biggest});
  std::ranges::stable_sort(out, [](const AllocationGroup& a, const AllocationGroup& b) { return a.bytes > b.bytes; });
  return out;
}

std::vector<Category> categories(const PeakSet& set) {
  std::array<Category, kHolderKinds> all{};
  for (const Member& member : set.members) {
    Category& category = all[static_cast<size_t>(main_holder(set.holders_of(member)).kind)];
    category.bytes += member.bytes;
    ++category.allocations;
  }
  std::vector<Category> out;
  for (size_t kind = 0; kind < all.size(); ++kind) {
    if (all[kind].allocations == 0) continue;
    all[kind].kind = static_cast<HolderKind>(kind);
    out.push_back(all[kind]);
  }
  return out;
}

std::string field_text(const Process& process, const Text& text, NodeId node, StringId field) {
  return field_name(text.string(process.nodes.type[node]), text.string(field));
}

std::string frame_text(const Text& text, FrameId frame, unsigned folders) {
  return place_text(place_of(text, frame), folders);
}

SourceLine place_of(const Text& text, FrameId frame) {
  return {text.string(text.frame_file[frame]), text.string(text.frame_function[frame]), text.frame_line[frame]};
}

}  // namespace tapelens::peak
