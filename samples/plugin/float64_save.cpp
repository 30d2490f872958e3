// A check of one's own: activations that autograd keeps in double precision.
#include <algorithm>
#include <array>

#include "analyzer/check/check.h"

namespace {

namespace peak = tapelens::peak;
using namespace tapelens::check;

constexpr std::array kOptions = {
    Option{"min-bytes", "1MiB", "smaller tensors are ignored"},
};

class Float64Save final : public Check {
 public:
  CheckInfo info() const override {
    return {
        .id = "float64-save",
        .title = "activations saved in double precision",
        .help =
            "Training seldom needs float64, but one numpy array or one Python constant in the data makes everything "
            "after it double, and autograd then saves twice the bytes. Found are allocations that nothing but "
            "float64 saves are of; fixed, they would hold half.",
        .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const Process& p = context.process;
    const Text& text = context.text;
    const Bytes least = options.bytes("min-bytes");
    for (uint32_t row = 1; row <= p.allocations.rows(); ++row) {
      const AllocationId allocation{row};
      const Bytes bytes = p.allocations.bytes[allocation];
      if (bytes < least || p.allocations.device[allocation] != context.device) continue;
      const auto saves = context.provenance.saves(allocation);
      const auto is_double = [&](SaveId save) {
        const LayoutId layout = p.saves.layout[save];
        return layout && text.string(text.layout_dtype[layout]) == "float64";
      };
      if (saves.empty() || !std::ranges::all_of(saves, is_double)) continue;
      // Half as many bytes for as long as it was there.
      const Interval when{p.allocations.time[allocation], p.freed(allocation)};
      peak::WhatIf change;
      change.ends.push_back({allocation, Time{when.begin.ns - 1}});
      change.without.assign(saves.begin(), saves.end());
      change.extras.push_back({{}, when, Bytes{bytes.value / 2}});
      sink.add({.place = place_of(context, *saves.begin()),
                .allocation = allocation,
                .bytes = bytes,
                .when = when,
                .save = *saves.begin()},
               change);
    }
  }

  Description describe(const Context& context, const Group& group) const override {
    Description words;
    const StringId op = context.process.operators.name[group.biggest().place.op];
    words.severity = Severity::info;  // other numerics: the program's author must want that
    words.title = std::string(context.text.string(op)) + " saves float64";
    words.message = "These tensors are saved in double precision. In single precision they would hold half.";
    words.fix.text = "Find where the first float64 comes from (torch.from_numpy, a float64 target) and call .float().";
    return words;
  }
};

}  // namespace

TAPELENS_CHECKS(Float64Save)
