#include "plugins/wide-save/narrow.h"

#include <algorithm>

namespace tapelens::check {

Narrow::Narrow(const Context& context)
    : context_(context),
      bits_(context.text,
            {"ReluBackward0", "LeakyReluBackward0", "LeakyReluBackward1", "HardtanhBackward0", "ThresholdBackward0",
             "HardsigmoidBackward0", "ClampBackward1", "ClampMinBackward0", "ClampMaxBackward0"}),
      made_in_place_(context.text, {"HardtanhBackward1", "ThresholdBackward1"}),
      values_(context.text, {"self", "result"}),
      pools_(context.text,
             {"MaxPool2DWithIndicesBackward0", "MaxPool3DWithIndicesBackward0", "AdaptiveMaxPool2DBackward0",
              "AdaptiveMaxPool3DBackward0", "FractionalMaxPool2DBackward0", "FractionalMaxPool3DBackward0"}),
      solid_pools_(context.text,
                   {"MaxPool3DWithIndicesBackward0", "AdaptiveMaxPool3DBackward0", "FractionalMaxPool3DBackward0"}),
      indices_(context.text, {"result1"}),
      self_(context.text, {"self"}),
      dropout_noise_(context.text, {"MulBackward0", "NativeDropoutBackward0"}),
      noise_(context.text, {"other", "result1"}),
      dropouts_(context.text, {"aten::dropout", "aten::dropout_", "aten::feature_dropout", "aten::feature_dropout_",
                               "aten::native_dropout"}),
      masks_(context.text, {"mask", "condition"}),
      floats_(context.text, {"float32", "float64", "bfloat16", "float16"}),
      bools_(context.text, {"bool"}),
      longs_(context.text, {"int64"}),
      indices_of_values_(context.text, {"indices", "index"}) {}

std::optional<Narrow::Form> Narrow::of(SaveId save) const {
  const Saves& s = context_.process.saves;
  const StringId type = context_.process.nodes.type[s.node[save]], field = s.field[save];
  const StringId dtype = context_.text.layout_dtype[s.layout[save]];
  const auto count = static_cast<int64_t>(elements(context_.text, s.layout[save]));
  const Bytes as_bits{(count + 7) / 8};
  const bool is_predicted = context_.applied != nullptr;
  if (is_predicted && !is_dense(context_.text, s.layout[save])) return std::nullopt;
  if ((bits_.has(type) || (made_in_place_.has(type) && !is_predicted)) && values_.has(field)) {
    if (is_predicted && !floats_.has(dtype)) return std::nullopt;
    return Form{kMask, as_bits, false};
  }
  if (is_noise(save)) return Form{kNoise, as_bits, true};
  if (is_indices(save)) {
    const uint64_t plane = plane_of(save, solid_pools_.has(type) ? 3 : 2);
    if (plane == 0 || plane > uint64_t{1} << 31) return std::nullopt;
    return Form{kIndices, Bytes{count * (plane <= uint64_t{1} << 15 ? 2 : 4)}, true};
  }
  if (!is_predicted) return std::nullopt;
  if (masks_.has(field) && bools_.has(dtype)) return Form{kNoise, as_bits, true};
  if (indices_of_values_.has(field) && longs_.has(dtype)) {
    // The values are not recorded. They point into one dimension: of what was sorted that is one of their own.
    const auto sizes = context_.text.sizes(s.layout[save]);
    const bool is_short = std::ranges::all_of(sizes, [](uint64_t size) { return size <= uint64_t{1} << 15; });
    return Form{kIndices, Bytes{count * (is_short ? 2 : 4)}, true};
  }
  return std::nullopt;
}

bool Narrow::is_indices(SaveId save) const {
  const Saves& s = context_.process.saves;
  return pools_.has(context_.process.nodes.type[s.node[save]]) && indices_.has(s.field[save]);
}

// What dropout multiplies with: 0 or one other number.
bool Narrow::is_noise(SaveId save) const {
  const Process& p = context_.process;
  const NodeId node = p.saves.node[save];
  if (!dropout_noise_.has(p.nodes.type[node]) || !noise_.has(p.saves.field[save])) return false;
  const OperatorId called = context_.provenance.called(p.nodes.op[node]);
  return dropouts_.has(p.operators.name[called]) && context_.provenance.maker(p.saves.allocation[save]) == called;
}

// Elements that an index may point to: of the last dimensions of what was pooled. 0: not known.
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
