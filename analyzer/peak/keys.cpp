#include "analyzer/peak/keys.h"

#include <algorithm>

#include "analyzer/model/attribution.h"

namespace tapelens::peak {

namespace {

// Kinds and ids share one number space: the kind in the upper half where no id applies.
uint64_t kind_key(HolderKind kind) { return (uint64_t{1} << 62) | static_cast<uint64_t>(kind); }

constexpr unsigned kMostFolders = 64;

}  // namespace

Keys::Keys(const Process& process, const Text& text, const std::vector<Step>& steps, By by)
    : p_(process), text_(text), steps_(steps), by_(by), source_of_(text.stack_begin.size(), UINT32_MAX) {}

uint64_t Keys::key(AllocationId allocation, const Holder& holder) {
  switch (by_) {
    case By::field:
      if (holder.kind != HolderKind::save) return kind_key(holder.kind);
      return uint64_t{p_.nodes.type[holder.node].value} << 32 | holder.field.value;
    case By::node:
      return holder.node ? p_.nodes.type[holder.node].value : kind_key(holder.kind);
    case By::module:
      return module_of(p_, allocation).value;
    case By::source: {
      const StackId stack = stack_of(p_, text_, allocation);
      uint32_t& frame = source_of_[stack.value];
      if (frame == UINT32_MAX) frame = source_frame(text_, stack).value;
      return frame;
    }
    case By::op:
      return called_name_of(p_, text_, allocation).value;
    case By::category:
      return kind_key(holder.kind);
    case By::step:
      return step_index_at(steps_, p_.allocations.time[allocation]);
  }
  return 0;
}

std::string Keys::name(uint64_t key, unsigned folders) const {
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

std::map<uint64_t, std::string> Keys::names(std::span<const uint64_t> keys) const {
  std::map<uint64_t, std::string> out;
  std::map<std::string, std::vector<uint64_t>> same;
  for (const uint64_t key : keys) {
    out[key] = name(key, 0);
    same[out[key]].push_back(key);
  }
  if (by_ != By::source) return out;
  for (auto& [shown, members] : same) {
    const auto file = [&](uint64_t key) { return text_.frame_file[FrameId{static_cast<uint32_t>(key)}]; };
    const StringId first = file(members[0]);
    const bool differ = std::ranges::any_of(members, [&](uint64_t key) { return file(key) != first; });
    for (unsigned folders = 1; differ && folders <= kMostFolders; ++folders) {
      std::map<std::string, uint32_t> file_of;
      bool clear = true;
      for (const uint64_t key : members) {
        out[key] = name(key, folders);
        const auto [at, fresh] = file_of.try_emplace(out[key], file(key).value);
        clear = clear && (fresh || at->second == file(key).value);
      }
      if (clear) break;
    }
  }
  return out;
}

}  // namespace tapelens::peak
