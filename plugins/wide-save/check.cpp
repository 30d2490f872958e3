// Saves of which a bit an element, or a smaller integer, would do.
#include "plugins/check.h"

#include <algorithm>
#include <array>
#include <utility>

#include "plugins/content.h"
#include "plugins/unneeded-save/unneeded.h"

namespace tapelens::advise {

namespace {

constexpr std::array kOptions = {
    Option{"min-bytes", "64KiB", "saves of less are not looked at"},
};

enum Variant : uint32_t { kMask = 0, kNoise = 1, kIndices = 2 };

// What each node type keeps, as far as this check is concerned.
class Fields {
 public:
  explicit Fields(const Context& context)
      : context_(context),
        bits_(context.text, {"ReluBackward0", "LeakyReluBackward0", "LeakyReluBackward1", "HardtanhBackward0",
                             "HardtanhBackward1", "ThresholdBackward0", "ThresholdBackward1", "HardsigmoidBackward0",
                             "ClampBackward1", "ClampMinBackward0", "ClampMaxBackward0"}),
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
                                 "aten::native_dropout"}) {}

  // The bytes that would do for a save; negative: it is not one of these.
  int64_t narrow(SaveId save) const {
    const Saves& s = context_.process.saves;
    const StringId type = context_.process.nodes.type[s.node[save]], field = s.field[save];
    const auto count = static_cast<int64_t>(elements(context_.text, s.layout[save]));
    if (bits_.has(type) && values_.has(field)) return (count + 7) / 8;
    if (is_noise(save)) return (count + 7) / 8;
    if (is_indices(save)) {
      const uint64_t plane = plane_of(save, solid_pools_.has(type) ? 3 : 2);
      if (plane == 0 || plane > uint64_t{1} << 31) return -1;
      return count * (plane <= uint64_t{1} << 15 ? 2 : 4);
    }
    return -1;
  }

  Variant variant(SaveId save) const { return is_indices(save) ? kIndices : is_noise(save) ? kNoise : kMask; }

 private:
  bool is_indices(SaveId save) const {
    const Saves& s = context_.process.saves;
    return pools_.has(context_.process.nodes.type[s.node[save]]) && indices_.has(s.field[save]);
  }

  // What dropout multiplies with: 0 or one other number.
  bool is_noise(SaveId save) const {
    const Process& p = context_.process;
    const NodeId node = p.saves.node[save];
    if (!dropout_noise_.has(p.nodes.type[node]) || !noise_.has(p.saves.field[save])) return false;
    const OperatorId called = context_.provenance.called(p.nodes.op[node]);
    return dropouts_.has(p.operators.name[called]) && context_.provenance.maker(p.saves.allocation[save]) == called;
  }

  // Elements that an index may point to: of the last dimensions of what was pooled. 0: not known.
  uint64_t plane_of(SaveId indices, size_t dimensions) const {
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

  const Context& context_;
  NameSet bits_, values_, pools_, solid_pools_, indices_, self_, dropout_noise_, noise_, dropouts_;
};

class WideSave final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "wide-save",
            .title = "saves of which a mask would do",
            .help =
                "ReLU and its relatives save a tensor of which the backward asks one thing an element: passed or not. "
                "CPU dropout saves its noise, 0 or one other number, as floats; pooling saves indices of 64 bits into "
                "planes of a few thousand elements. A bit an element, or integers of 16 or 32 bits, hold the same. "
                "Found only where nothing else keeps the storage anyway.",
            .options = kOptions,
            .precedence = 1};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const Process& p = context.process;
    const Contents contents(context);
    const Fields fields(context);
    Unneeded unneeded(context);
    const Bytes least = options.bytes("min-bytes");
    std::vector<uint8_t> seen(size_t{p.allocations.rows()} + 1);
    for (uint32_t row = 1; row <= p.saves.rows(); ++row) {
      const AllocationId allocation = p.saves.allocation[SaveId{row}];
      if (!allocation || std::exchange(seen[allocation.value], 1) != 0 || p.allocations.bytes[allocation] < least)
        continue;
      if (p.allocations.device[allocation] != context.device || contents.has_role(allocation)) continue;
      const Interval kept = kept_by_saves(context, allocation);
      if (kept.begin >= kept.end) continue;
      peak::WhatIf change;
      int64_t narrow = 0;
      for (const SaveId save : context.provenance.saves(allocation)) {
        const int64_t needed = fields.narrow(save);
        if (needed < 0 && unneeded.of(save) == nullptr) {
          change = {};
          break;
        }
        if (needed < 0) continue;
        narrow += needed;
        change.without.push_back(save);
        change.extras.push_back({allocation, {p.saves.time[save], p.saves.released[save]}, Bytes{needed}});
      }
      const Bytes bytes = p.allocations.bytes[allocation] - Bytes{narrow};
      if (change.without.empty() || bytes <= Bytes{}) continue;
      const SaveId save = change.without.front();
      sink.add({.place = place_of(context, save),
                .allocation = allocation,
                .bytes = bytes,
                .when = {p.allocations.time[allocation], p.freed(allocation)},
                .save = save},
               change, fields.variant(save));
    }
  }

  Description describe(const Context& context, const Group& group) const override {
    const Process& p = context.process;
    const Occurrence& biggest = group.biggest();
    const std::string what = std::string(context.text.string(p.nodes.type[biggest.place.node])) + "." +
                             std::string(context.text.string(biggest.place.field));
    Description words;
    words.severity = Severity::info;
    switch (group.variant) {
      case kNoise:
        words.title = what + " of a dropout: a bit an element would do";
        words.message = "Dropout's noise is 0 or one other number, and is kept as " + layout(context, biggest.save) +
                        ". Nothing else keeps that memory.";
        break;
      case kIndices:
        words.title = what + " as 64 bit indices";
        words.message =
            "The indices point into one plane of the pooled tensor, which integers of 16 or 32 bits can do. "
            "They are kept as " +
            layout(context, biggest.save) + ".";
        break;
      default:
        words.title = what + ": a bit an element would do";
        words.message = "The backward asks of each element only whether its gradient passes; kept is " +
                        layout(context, biggest.save) + ". Nothing else keeps that memory.";
    }
    words.notes.emplace_back("The bytes are what the narrower form would save, that form subtracted.");
    words.fix = {FixKind::rewrite, "wide-save", "",
                 "A torch.autograd.Function that saves the mask (or the smaller integers) in place of the tensor."};
    return words;
  }

 private:
  static std::string layout(const Context& context, SaveId save) {
    return layout_text(context.text, context.process.saves.layout[save]);
  }
};

}  // namespace

}  // namespace tapelens::advise

TAPELENS_CHECKS(tapelens::advise::WideSave)
