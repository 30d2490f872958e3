#include "plugins/wide-save/narrow.h"

#include <algorithm>

namespace tapelens::check {

using plugins::wide_save::kPools;
using plugins::wide_save::Pool;

Narrow::Narrow(const Context& context)
    : context_(context),
      made_in_place_(context.text, {"HardtanhBackward1", "ThresholdBackward1"}),
      result_(context.text, {"result"}),
      self_(context.text, {"self"}),
      dropouts_(context.text, {"aten::dropout", "aten::dropout_", "aten::feature_dropout", "aten::feature_dropout_",
                               "aten::native_dropout"}),
      floats_(context.text, {"float32", "float64", "bfloat16", "float16"}),
      bools_(context.text, {"bool"}),
      longs_(context.text, {"int64"}) {}

plugins::wide_save::Kind Narrow::kind_of(StringId type, StringId field) const {
  const auto [at, is_new] = by_field_.try_emplace(uint64_t{type.value} << 32 | field.value);
  if (is_new) at->second = plugins::wide_save::kind_of(context_.text.string(type), context_.text.string(field));
  return at->second;
}

std::optional<Narrow::Form> Narrow::of(SaveId save) const {
  const Saves& s = context_.process.saves;
  const StringId type = context_.process.nodes.type[s.node[save]], field = s.field[save];
  const StringId dtype = context_.text.layout_dtype[s.layout[save]];
  const auto count = static_cast<int64_t>(elements(context_.text, s.layout[save]));
  const Bytes as_bits{(count + 7) / 8};
  const bool is_predicted = context_.applied != nullptr;
  if (is_predicted && !is_dense(context_.text, s.layout[save])) return std::nullopt;
  // Reading values of a GPU would wait for the GPU. There the rewrite handles only forms that need no values.
  const bool is_blind = is_predicted && context_.is_on_cuda();
  using enum plugins::wide_save::Kind;
  switch (kind_of(type, field)) {
    case mask:
      if (is_predicted && !floats_.has(dtype)) return std::nullopt;
      return Form{kMask, as_bits, false};
    case noise:
      if (!is_of_dropout(save) || (is_blind && !bools_.has(dtype))) return std::nullopt;
      return Form{kNoise, as_bits, true};
    case bools:
      if (!is_predicted || !bools_.has(dtype)) return std::nullopt;
      return Form{kNoise, as_bits, true};
    case pool_indices: {
      const auto pool = std::ranges::find(kPools, context_.text.string(type), &Pool::type);
      const uint64_t plane = plane_of(save, pool->dimensions);
      if (plane == 0 || plane > uint64_t{1} << 31) return std::nullopt;
      return Form{kIndices, Bytes{count * (plane <= uint64_t{1} << 15 ? 2 : 4)}, true};
    }
    case other_indices: {
      if (!is_predicted || is_blind || !longs_.has(dtype)) return std::nullopt;
      // The recording has no values. Indices point into one dimension of the input. After a sort, the indices have a
      // dimension of the same size.
      const auto sizes = context_.text.sizes(s.layout[save]);
      const bool is_short = std::ranges::all_of(sizes, [](uint64_t size) { return size <= uint64_t{1} << 15; });
      return Form{kIndices, Bytes{count * (is_short ? 2 : 4)}, true};
    }
    case none:
      break;
  }
  // In-place operators keep their result. A mask is enough, but the rewrite leaves these saves unchanged.
  if (!is_predicted && made_in_place_.has(type) && result_.has(field)) return Form{kMask, as_bits, false};
  return std::nullopt;
}

bool Narrow::is_of_dropout(SaveId noise) const {
  const Process& p = context_.process;
  const OperatorId called = context_.provenance.called(p.nodes.op[p.saves.node[noise]]);
  return dropouts_.has(p.operators.name[called]) && context_.provenance.maker(p.saves.allocation[noise]) == called;
}

// The number of elements that an index may point to: the last dimensions of the pooled tensor. 0: unknown.
uint64_t Narrow::plane_of(SaveId indices, size_t dimensions) const {
  const Saves& s = context_.process.saves;
  const NodeId node = s.node[indices];
  const auto of_self = [&](uint32_t row) { return self_.has(s.field[SaveId{row}]); };
  // A node's saves follow one another.
  uint32_t first = indices.value, row = 0;
  while (first > 1 && s.node[SaveId{first - 1}] == node) --first;
  for (uint32_t at = first; at <= s.rows() && s.node[SaveId{at}] == node; ++at) {
    if (of_self(at)) row = at;
  }
  const auto sizes = context_.text.sizes(s.layout[SaveId{row}]);
  if (row == 0 || sizes.size() < dimensions) return 0;
  uint64_t plane = 1;
  for (const uint64_t size : sizes.last(dimensions)) plane *= size;
  return plane;
}

}  // namespace tapelens::check
