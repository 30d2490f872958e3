#include "plugins/unneeded-save/unneeded.h"

#include <algorithm>

#include "trace/record.h"

namespace tapelens::check {

using namespace plugins::unneeded_save;

namespace {

// Only nodes with lists of inputs have more inputs than bits. For them the table says "any".
uint64_t wanted_of(std::span<const uint32_t> edges) {
  uint64_t wanted = 0;
  for (size_t i = 0; i < std::min<size_t>(edges.size(), 64); ++i) wanted |= uint64_t{edges[i] != 0} << i;
  return wanted;
}

}  // namespace

Unneeded::Unneeded(const Context& context)
    : context_(context), rows_(needs_of(context.torch_version).value_or(std::span<const Need>())) {}

const Need* Unneeded::of(SaveId save) {
  const Process& p = context_.process;
  const NodeId node = p.saves.node[save];
  constexpr uint8_t kNotOurs = trace::kNodeIsCustom | trace::kNodeIsAccumulateGrad | trace::kNodeHasUnseenEdges;
  if (!node || (p.nodes.flags[node] & kNotOurs) != 0 || (p.saves.flags[save] & trace::kSaveIsPacked) != 0) {
    return nullptr;
  }
  const StringId type = p.nodes.type[node], field = p.saves.field[save];
  const auto [at, is_new] = by_field_.try_emplace(uint64_t{type.value} << 32 | field.value);
  if (is_new) at->second = needs_of(rows_, context_.text.string(type), context_.text.string(field));
  if (at->second.empty()) return nullptr;
  const std::string_view attributes = context_.text.string(p.nodes.attributes[node]);
  const uint64_t wanted = wanted_of(p.nodes.edges_of(node));
  const bool is_for_cuda = context_.applied != nullptr && context_.is_on_cuda();
  const auto row = std::ranges::find_if(
      at->second, [&](const Need& n) { return (n.on_cuda || !is_for_cuda) && holds(n, wanted, attributes); });
  return row == at->second.end() ? nullptr : &*row;
}

}  // namespace tapelens::check
