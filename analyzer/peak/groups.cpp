#include "analyzer/peak/groups.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "analyzer/model/attribution.h"

namespace tapelens::peak {

namespace {

constexpr std::array<const char*, 7> kByNames = {"field", "node", "module", "source", "operator", "category", "step"};

// Groups are counted by a number first and named once at the end: a peak set may have a million members.
struct Sum {
  Bytes bytes;
  uint64_t allocations = 0;
};
using Sums = std::unordered_map<uint64_t, Sum>;

// Kinds and ids share one number space: the kind in the upper half where no id applies.
uint64_t kind_key(HolderKind kind) { return (uint64_t{1} << 62) | static_cast<uint64_t>(kind); }

class Keys {
 public:
  Keys(const Process& process, const Text& text, const std::vector<Step>& steps, By by)
      : p_(process), text_(text), steps_(steps), by_(by) {}

  uint64_t key(const Member& member, const Holder& holder) const {
    switch (by_) {
      case By::field:
        if (holder.kind != HolderKind::save) return kind_key(holder.kind);
        return uint64_t{p_.nodes.type[holder.node].value} << 32 | holder.field.value;
      case By::node:
        return holder.node ? p_.nodes.type[holder.node].value : kind_key(holder.kind);
      case By::module:
        return module_of(p_, member.allocation).value;
      case By::source:
        return source_frame(text_, stack_of(p_, text_, member.allocation)).value;
      case By::op:
        return operator_name_of(p_, text_, member.allocation).value;
      case By::category:
        return kind_key(holder.kind);
      case By::step:
        return step_at(steps_, p_.allocations.time[member.allocation]).index;
    }
    return 0;
  }

  std::string name(uint64_t key, unsigned folders) const {
    if ((key >> 62) != 0) {
      const auto kind = static_cast<HolderKind>(key & 0xff);
      if (by_ == By::node && kind == HolderKind::save) return "(unattributed)";
      return category_name(kind);
    }
    const auto id = static_cast<uint32_t>(key);
    switch (by_) {
      case By::field: {
        const std::string_view type = text_.string(StringId{static_cast<uint32_t>(key >> 32)});
        return std::string(type.empty() ? "(unattributed)" : type) + "." + std::string(text_.string(StringId{id}));
      }
      case By::module:
        return id == 0 ? "(outside of modules)" : std::string(text_.string(text_.module_path[ModuleId{id}]));
      case By::source:
        return id == 0 ? "(no stack)" : frame_text(text_, FrameId{id}, folders);
      case By::step:
        return "step " + std::to_string(id);
      case By::op:
        if (id == 0) return "(no operator)";
        [[fallthrough]];
      default:
        return std::string(text_.string(StringId{id}));
    }
  }

 private:
  const Process& p_;
  const Text& text_;
  const std::vector<Step>& steps_;
  By by_;
};

// Two files of the same name must not look like one place: their folders are shown until they differ.
constexpr unsigned kMostFolders = 64;

std::map<uint64_t, std::string> names(const Keys& keys, const Sums& sums, const Text& text, bool is_source) {
  std::map<uint64_t, std::string> out;
  std::map<std::string, std::vector<uint64_t>> same;
  for (const auto& [key, sum] : sums) {
    out[key] = keys.name(key, 0);
    same[out[key]].push_back(key);
  }
  if (!is_source) return out;
  for (auto& [name, members] : same) {
    const auto file = [&](uint64_t key) { return text.frame_file[FrameId{static_cast<uint32_t>(key)}]; };
    const StringId first = file(members[0]);
    const bool differ = std::ranges::any_of(members, [&](uint64_t key) { return file(key) != first; });
    for (unsigned folders = 1; differ && folders <= kMostFolders; ++folders) {
      std::map<std::string, uint32_t> file_of;
      bool clear = true;
      for (const uint64_t key : members) {
        out[key] = keys.name(key, folders);
        const auto [at, fresh] = file_of.try_emplace(out[key], file(key).value);
        clear = clear && (fresh || at->second == file(key).value);
      }
      if (clear) break;
    }
  }
  return out;
}

}  // namespace

std::optional<By> parse_by(std::string_view word) {
  const auto at = std::ranges::find(kByNames, word);
  if (at == kByNames.end()) return std::nullopt;
  return static_cast<By>(at - kByNames.begin());
}

const char* by_name(By by) { return kByNames[static_cast<size_t>(by)]; }

std::vector<Group> groups(const Process& process, const Text& text, const std::vector<Step>& steps, const PeakSet& set,
                          By by) {
  const Keys keys(process, text, steps, by);
  Sums sums;
  for (const Member& member : set.members) {
    Sum& sum = sums[keys.key(member, main_holder(set.holders_of(member)))];
    sum.bytes += member.bytes;
    ++sum.allocations;
  }
  // Keys that read the same are one group: two frames of one line, a string that was interned by two processes.
  std::map<std::string, Sum> by_name;
  for (const auto& [key, name] : names(keys, sums, text, by == By::source)) {
    Sum& sum = by_name[name];
    sum.bytes += sums.at(key).bytes;
    sum.allocations += sums.at(key).allocations;
  }
  std::vector<Group> out;
  for (const auto& [name, sum] : by_name) out.push_back({name, sum.bytes, sum.allocations});
  std::ranges::stable_sort(out, [](const Group& a, const Group& b) { return a.bytes > b.bytes; });
  return out;
}

std::vector<Category> categories(const PeakSet& set) {
  std::array<Category, 7> all{};
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
  const std::string_view type = text.string(process.nodes.type[node]);
  return std::string(type.empty() ? "(unattributed)" : type) + "." + std::string(text.string(field));
}

std::string frame_text(const Text& text, FrameId frame, unsigned folders) {
  std::string_view file = text.string(text.frame_file[frame]);
  size_t begin = file.size();
  for (unsigned part = 0; part <= folders && begin != std::string_view::npos && begin > 0; ++part) {
    begin = file.rfind('/', begin - 1);
  }
  if (begin != std::string_view::npos && begin < file.size()) file.remove_prefix(begin + 1);
  std::string out(file);
  if (const uint32_t line = text.frame_line[frame]) out += ":" + std::to_string(line);
  const std::string_view function = text.string(text.frame_function[frame]);
  if (!function.empty()) out += (out.empty() ? "" : " ") + std::string(function);
  return out;
}

}  // namespace tapelens::peak
