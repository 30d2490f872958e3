// The names of groups out of a report's allocations: those of peak::groups(), which has the columns for it.
#include <algorithm>
#include <map>
#include <unordered_map>

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

// As peak::frame_text() has it.
std::string frame_words(const Frame& frame, unsigned folders) {
  std::string_view file = frame.file;
  size_t begin = file.size();
  for (unsigned part = 0; part <= folders && begin != std::string_view::npos && begin > 0; ++part)
    begin = file.rfind('/', begin - 1);
  if (begin != std::string_view::npos && begin < file.size()) file.remove_prefix(begin + 1);
  std::string out(file);
  if (frame.line != 0) out += ":" + std::to_string(frame.line);
  if (!frame.function.empty()) out += (out.empty() ? "" : " ") + frame.function;
  return out;
}

std::string key_words(const Allocation& a, peak::By by) {
  const Holder& holder = main_holder(a);
  const bool is_save = holder.kind == peak::HolderKind::save;
  switch (by) {
    case peak::By::field:
      if (!is_save) return category_name(holder.kind);
      return (holder.node.empty() ? "(unattributed)" : holder.node) + "." + holder.field;
    case peak::By::node:
      if (!holder.node.empty()) return holder.node;
      return is_save ? "(unattributed)" : category_name(holder.kind);
    case peak::By::module:
      return a.module.empty() ? "(outside of modules)" : a.module;
    case peak::By::source:
      return a.stack.empty() ? "(no stack)" : a.source;
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
  uint32_t add(std::string name) {
    const auto [at, fresh] = ids_.try_emplace(std::move(name), static_cast<uint32_t>(keys.names.size()));
    if (fresh) keys.names.push_back(at->first);
    keys.of.push_back(at->second);
    return at->second;
  }
  GroupKeys keys;

 private:
  std::unordered_map<std::string, uint32_t> ids_;
};

constexpr unsigned kMostFolders = 64;  // as groups() has it

// Two files of the same name must not look like one place: their folders are shown until they differ.
GroupKeys source_keys(const report::Peak& peak) {
  std::map<std::string, std::map<std::string_view, const Frame*>> files;  // of each short name
  for (const Allocation& a : peak.allocations) {
    if (const Frame* frame = source_of(a)) files[a.source].try_emplace(frame->file, frame);
  }
  std::map<std::string, unsigned> folders;
  for (const auto& [name, same] : files) {
    if (same.size() < 2) continue;
    unsigned& wanted = folders[name];
    for (bool clear = false; !clear && wanted < kMostFolders;) {
      ++wanted;
      std::vector<std::string> texts;
      for (const auto& [file, frame] : same) texts.push_back(frame_words(*frame, wanted));
      std::ranges::sort(texts);
      clear = std::ranges::adjacent_find(texts) == texts.end();
    }
  }
  Names names;
  for (const Allocation& a : peak.allocations) {
    const auto wanted = folders.find(a.source);
    const Frame* frame = wanted == folders.end() ? nullptr : source_of(a);
    names.add(frame != nullptr ? frame_words(*frame, wanted->second) : key_words(a, peak::By::source));
  }
  return std::move(names.keys);
}

}  // namespace

GroupKeys group_keys(const report::Peak& peak, peak::By by) {
  if (by == peak::By::source) return source_keys(peak);
  Names names;
  for (const Allocation& a : peak.allocations) names.add(key_words(a, by));
  return std::move(names.keys);
}

}  // namespace tapelens::gui
