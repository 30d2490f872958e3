#include "plugins/stacked-graphs/branches.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "analyzer/check/content.h"

namespace tapelens::check {
namespace {

// Types of nodes that pass the gradient of a sum to its terms, at most scaled.
enum Kind : uint8_t {
  kOther = 0,
  kAdds = 1,    // of scalars
  kScales = 2,  // by a constant
  kGathers = 3  // scalars into a list
};
constexpr std::array<std::pair<std::string_view, Kind>, 10> kKinds = {{{"AddBackward0", kAdds},
                                                                       {"SubBackward0", kAdds},
                                                                       {"DivBackward0", kScales},
                                                                       {"MulBackward0", kScales},
                                                                       {"NegBackward0", kScales},
                                                                       {"SumBackward0", kScales},
                                                                       {"MeanBackward0", kScales},
                                                                       {"StackBackward0", kGathers},
                                                                       {"CatBackward0", kGathers},
                                                                       {"UnsqueezeBackward0", kScales}}};

constexpr int64_t kMostOfScalars = 4096;  // bytes: a list of losses
constexpr int64_t kMostOfNumber = 16;     // bytes: one element

}  // namespace

Branches::Branches(const Context& context, const Graphs& graphs)
    : context_(context),
      p_(context.process),
      graphs_(graphs),
      owner_(size_t{context.process.nodes.rows()} + 1, 0),
      is_open_(owner_.size(), 0),
      next_big_(size_t{context.process.allocations.rows()} + 2) {
  const uint32_t allocations = p_.allocations.rows();
  next_big_[allocations + 1] = allocations + 1;
  for (uint32_t row = allocations; row > 0; --row) {
    next_big_[row] = p_.allocations.bytes[AllocationId{row}].value > kMostOfScalars ? row : next_big_[row + 1];
  }
  kind_.resize(context.text.string_begin.size());
  for (uint32_t id = 1; id + 1 < context.text.string_begin.size(); ++id) {
    for (const auto& [name, kind] : kKinds) {
      if (context.text.string(StringId{id}) == name) kind_[id] = kind;
    }
  }
}

// Whether the node's operator made only a few scalars (at most a list of losses), or nothing.
bool Branches::makes_scalars(NodeId node) const {
  const OperatorId op = p_.nodes.op[node];
  if (!op) return false;
  const auto& times = p_.allocations.time.raw;
  const auto first = std::lower_bound(times.begin() + 1, times.end(), p_.operators.begin.raw[op.value]) - times.begin();
  const uint32_t big = next_big_[static_cast<uint32_t>(first)];
  return big >= times.size() || times[big] > p_.operators.end.raw[op.value];
}

bool Branches::is_sum(NodeId node) const {
  const uint8_t kind = kind_[p_.nodes.type[node].value];
  if (kind == kOther || !makes_scalars(node)) return false;
  uint32_t terms = 0;
  uint32_t term = 0;
  for (const uint32_t next : p_.nodes.edges_of(node)) {
    if (next == 0) continue;
    if (!graphs_.is_inner(NodeId{next})) return false;
    ++terms;
    term = next;
  }
  if (kind != kScales) return terms > 0;
  // The search ends at a sum over the elements of one tensor, unless the elements are losses.
  return terms == 1 && makes_scalars(NodeId{term});
}

std::vector<NodeId> Branches::find_losses(NodeId root, uint32_t first, uint32_t end) {
  if (!graphs_.is_inner(root) || !is_sum(root)) return {};
  const auto nodes = std::span(p_.evaluations.node.raw).subspan(first, end - first);
  for (const uint32_t node : nodes) is_open_[node] = 1;
  is_open_[0] = 0;  // an evaluation of an unrecorded node
  sums_.clear();
  std::vector<NodeId> losses, open{root};
  is_open_[root.value] = 0;
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    if (!is_sum(node)) {
      losses.push_back(node);
      continue;
    }
    sums_.push_back(node);
    for (const uint32_t next : p_.nodes.edges_of(node)) {
      if (std::exchange(is_open_[next], 0) != 0) open.push_back(NodeId{next});
    }
  }
  for (const uint32_t node : nodes) is_open_[node] = 0;
  std::ranges::sort(losses);
  return losses;
}

bool Branches::has_later_factor(Time time) const {
  return std::ranges::any_of(sums_, [&](NodeId node) {
    if (kind_[p_.nodes.type[node].value] != kScales) return false;
    const std::vector<SaveId> saves = saves_of(context_, node);
    return std::ranges::any_of(saves, [&](SaveId save) {
      const AllocationId factor = p_.saves.allocation[save];
      if (!factor || p_.allocations.time[factor] <= time) return false;
      const bool is_number = context_.text.layout_bytes[p_.saves.layout[save]].value <= kMostOfNumber;
      return !is_number && context_.provenance.nodes(context_.provenance.maker(factor)).empty();
    });
  });
}

std::vector<Branch> Branches::of(uint32_t first, uint32_t end) {
  if (first >= end) return {};
  const std::vector<NodeId> losses = find_losses(p_.evaluations.node[EvaluationId{first}], first, end);
  if (losses.size() < 2) return {};

  // Joins branches that meet: each has the lowest number among them.
  std::vector<uint32_t> met(losses.size() + 1);
  for (uint32_t i = 0; i < met.size(); ++i) met[i] = i;
  const auto lowest = [&](uint32_t i) {
    while (met[i] != i) i = met[i] = met[met[i]];
    return i;
  };
  for (uint32_t i = 0; i < losses.size(); ++i) owner_[losses[i].value] = i + 1;
  for (uint32_t row = first; row < end; ++row) {
    const NodeId node = p_.evaluations.node[EvaluationId{row}];
    const uint32_t owner = owner_[node.value];
    if (owner == 0 || !graphs_.is_inner(node)) continue;
    for (const uint32_t next : p_.nodes.edges_of(node)) {
      if (next == 0 || !graphs_.is_inner(NodeId{next})) continue;
      if (owner_[next] == 0) owner_[next] = owner;
      const uint32_t a = lowest(owner_[next]), b = lowest(owner);
      met[std::max(a, b)] = std::min(a, b);
    }
  }

  std::vector<Branch> branches(losses.size() + 1);
  for (uint32_t row = first; row < end; ++row) {
    const NodeId node = p_.evaluations.node[EvaluationId{row}];
    uint32_t& owner = owner_[node.value];
    if (owner == 0 || !graphs_.is_inner(node)) continue;
    Branch& branch = branches[lowest(owner)];
    owner = 0;
    const Time made = p_.nodes.time[node];
    branch.first = branch.nodes.empty() ? made : std::min(branch.first, made);
    branch.last = std::max(branch.last, made);
    branch.loss = std::max(branch.loss, node);
    branch.nodes.push_back(node);
    for (const uint32_t next : p_.nodes.edges_of(node)) {
      if (next != 0 && p_.nodes.parameter[NodeId{next}]) branch.leaves.push_back(NodeId{next});
    }
  }
  for (const NodeId loss : losses) owner_[loss.value] = 0;
  std::erase_if(branches, [](const Branch& branch) { return branch.nodes.empty(); });
  std::ranges::sort(branches, {}, &Branch::first);
  if (branches.size() < 2 || has_later_factor(branches.front().last)) return {};
  return branches;
}

}  // namespace tapelens::check
