// Computes the names of groups from a report's allocations. They equal those of peak::groups(), which reads columns
// instead.
#include <algorithm>
#include <unordered_map>

#include "analyzer/model/words.h"
#include "gui/models/group_tree.h"

namespace tapelens::gui {

namespace {

using report::Allocation;
using report::Frame;
using report::Holder;

const Frame* source_of(const Allocation& allocation) {
  const auto& stack = allocation.stack;
  const auto own =
      std::ranges::find_if(stack, [](const Frame& f) { return !model::is_library_frame(f.file, f.function); });
  if (own != stack.end()) return &*own;
  return stack.empty() ? nullptr : &stack.front();
}

// The module of an allocation: the owner of its parameter, else the module that made it.
const std::string& module_words(const Allocation& a) {
  static const std::string kOutside = "(outside of modules)";
  if (!a.owner.empty()) return a.owner;
  return a.module.empty() ? kOutside : a.module;
}

std::string key_words(const Allocation& a, peak::By by) {
  const Holder& holder = main_holder(a);
  const bool is_save = holder.kind == peak::HolderKind::save;
  switch (by) {
    case peak::By::field:
      if (!is_save || !holder.evidence.empty()) return category_name(holder.kind);
      return model::field_name(holder.node, holder.field);
    case peak::By::node:
      if (!holder.node.empty()) return holder.node;
      return is_save ? "(unattributed)" : category_name(holder.kind);
    case peak::By::module:
      return module_words(a);
    case peak::By::source:
      return a.stack.empty() ? peak::kNoStack : a.source;
    case peak::By::stack:
      return a.stack.empty() ? peak::kNoStack : peak::kOtherFrames;
    case peak::By::op:
      return a.op.empty() ? "(no operator)" : a.op;
    case peak::By::category:
      return category_name(holder.kind);
    case peak::By::step:
      return "step " + std::to_string(a.step);
  }
  return {};
}

class Names {
 public:
  void add(std::string name, std::vector<std::string> parts = {}) {
    const auto [at, fresh] = ids_.try_emplace(std::move(name), static_cast<uint32_t>(keys.names.size()));
    if (fresh) keys.names.push_back(at->first);
    if (fresh) keys.parts.push_back(std::move(parts));
    keys.of.push_back(at->second);
  }
  GroupKeys keys;

 private:
  std::unordered_map<std::string, uint32_t> ids_;
};

// The frames that name a place, outermost first: the frame of the line, or all frames of the program.
std::vector<peak::SourceLine> places_of(const Allocation& a, peak::By by) {
  std::vector<peak::SourceLine> places;
  const auto add = [&](const Frame& frame) { places.push_back({frame.file, frame.function, frame.line}); };
  if (by == peak::By::source) {
    if (const Frame* frame = source_of(a)) add(*frame);
    return places;
  }
  for (auto at = a.stack.rbegin(); at != a.stack.rend(); ++at) {
    if (!model::is_library_frame(at->file, at->function)) add(*at);
  }
  return places;
}

GroupKeys place_keys(const report::Peak& peak, peak::By by, Nesting nesting) {
  peak::FrameNames frames;
  for (const Allocation& a : peak.allocations) {
    for (const peak::SourceLine& place : places_of(a, by)) frames.add(place);
  }
  Names names;
  for (const Allocation& a : peak.allocations) {
    std::vector<std::string> parts;
    for (const peak::SourceLine& place : places_of(a, by)) parts.push_back(frames.name(place));
    if (parts.empty()) {
      names.add(key_words(a, by));
      continue;
    }
    std::string name;
    for (const std::string& part : parts) name += (name.empty() ? "" : peak::kBetweenFrames) + part;
    if (nesting == Nesting::none) parts.clear();
    names.add(std::move(name), std::move(parts));
  }
  return std::move(names.keys);
}

std::vector<std::string> path_parts(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// The name of a parameter, or of data that belongs to it: "layer1.conv.weight", "layer1.conv.weight exp_avg".
std::string role_words(const Allocation& a, Nesting nesting) {
  const Holder& holder = main_holder(a);
  const bool is_state = holder.kind == peak::HolderKind::optimizer_state;
  std::string name = is_state ? holder.parameter : holder.name;
  if (nesting == Nesting::modules && !a.owner.empty()) name.erase(0, name.rfind('.') + 1);
  if (is_state && !holder.name.empty()) name += (name.empty() ? "" : " ") + holder.name;
  return name;
}

std::vector<std::string> parts_of(const Allocation& a, const std::string& key, peak::By by, Nesting nesting) {
  if (nesting == Nesting::none) return {};
  if (by == peak::By::module && !key.starts_with('(')) return path_parts(key);
  if (by != peak::By::field) return {};
  switch (a.category) {
    case peak::HolderKind::parameter:
    case peak::HolderKind::buffer:
    case peak::HolderKind::gradient:
    case peak::HolderKind::optimizer_state:
      if (std::string name = role_words(a, nesting); !name.empty()) return {key, std::move(name)};
      return {};
    default:
      return {};
  }
}

}  // namespace

GroupKeys group_keys(const report::Peak& peak, peak::By by, Nesting nesting) {
  if (by == peak::By::source || by == peak::By::stack) return place_keys(peak, by, nesting);
  Names names;
  for (const Allocation& a : peak.allocations) {
    std::string key = key_words(a, by);
    std::vector<std::string> parts = parts_of(a, key, by, nesting);
    if (by == peak::By::field && parts.size() > 1) key += '\n' + parts.back();
    names.add(std::move(key), std::move(parts));
  }
  return std::move(names.keys);
}

}  // namespace tapelens::gui
