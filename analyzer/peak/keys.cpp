#include "analyzer/peak/keys.h"

#include <algorithm>

#include "analyzer/model/attribution.h"
#include "analyzer/model/words.h"

namespace tapelens::peak {

namespace {

// Kinds and ids share one number space: the kind in the upper half where no id applies.
uint64_t kind_key(HolderKind kind) { return (uint64_t{1} << 62) | static_cast<uint64_t>(kind); }

}  // namespace

Keys::Keys(const Process& process, const Text& text, const std::vector<Step>& steps, By by)
    : p_(process), text_(text), steps_(steps), by_(by), source_of_(text.stack_begin.size(), UINT32_MAX) {
  if (by == By::module) modules_.emplace(process, text);
}

uint64_t Keys::key(AllocationId allocation, const Holder& holder) {
  switch (by_) {
    case By::field:
      if (holder.kind != HolderKind::save || p_.is_imported) return kind_key(holder.kind);
      return uint64_t{p_.nodes.type[holder.node].value} << 32 | holder.field.value;
    case By::node:
      if (const auto facts = p_.imported_facts.of(allocation); facts && p_.imported_facts.node[facts])
        return p_.imported_facts.node[facts].value;
      return holder.node ? p_.nodes.type[holder.node].value : kind_key(holder.kind);
    case By::module:
      if (const ModuleId module = modules_->of(allocation)) return module.value;
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
    case By::stack:
      return stack_of(p_, text_, allocation).value;
  }
  return 0;
}

std::string Keys::name(uint64_t key, const FrameNames& frames) const {
  if ((key >> 62) != 0) {
    const auto kind = static_cast<HolderKind>(key & 0xff);
    if (by_ == By::node && kind == HolderKind::save) return "(unattributed)";
    return category_name(kind);
  }
  const auto id = static_cast<uint32_t>(key);
  switch (by_) {
    case By::field:
      return field_name(text_.string(StringId{static_cast<uint32_t>(key >> 32)}), text_.string(StringId{id}));
    case By::module:
      return id == 0 ? "(outside of modules)" : std::string(text_.string(text_.module_path[ModuleId{id}]));
    case By::source:
      return id == 0 ? kNoStack : frames.name(place_of(text_, FrameId{id}));
    case By::stack:
      return stack_name(StackId{id}, frames);
    case By::step:
      return "step " + std::to_string(id);
    case By::op:
      if (id == 0) return "(no operator)";
      [[fallthrough]];
    default:
      return std::string(text_.string(StringId{id}));
  }
}

std::string Keys::stack_name(StackId stack, const FrameNames& frames) const {
  const auto all = text_.stack(stack);
  if (all.empty()) return kNoStack;
  std::string out;
  for (auto at = all.rbegin(); at != all.rend(); ++at) {
    const SourceLine place = place_of(text_, *at);
    if (!is_library_frame(place.file, place.function)) out += (out.empty() ? "" : kBetweenFrames) + frames.name(place);
  }
  return out.empty() ? kOtherFrames : out;
}

std::map<uint64_t, std::string> Keys::names(std::span<const uint64_t> keys) const {
  FrameNames frames;
  for (const uint64_t key : keys) {
    const auto id = static_cast<uint32_t>(key);
    if (by_ == By::source && id != 0) frames.add(place_of(text_, FrameId{id}));
    if (by_ != By::stack) continue;
    for (const FrameId frame : text_.stack(StackId{id})) {
      const SourceLine place = place_of(text_, frame);
      if (!is_library_frame(place.file, place.function)) frames.add(place);
    }
  }
  std::map<uint64_t, std::string> out;
  for (const uint64_t key : keys) out[key] = name(key, frames);
  return out;
}

}  // namespace tapelens::peak
