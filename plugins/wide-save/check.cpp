// Saves for which one bit for each element, or a smaller integer, is enough.
#include "analyzer/check/check.h"

#include <algorithm>
#include <array>
#include <utility>

#include "plugins/unneeded-save/unneeded.h"
#include "plugins/wide-save/narrow.h"
#include "plugins/wide-save/rule.h"

namespace tapelens::check {

namespace {

using plugins::wide_save::kRewrite;

constexpr std::array kOptions = {
    Option{"min-bytes", "64KiB", "smaller saves are ignored"},
};

class WideSave final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = kRewrite.id,
            .title = "saves for which a 1-bit mask is enough",
            .help =
                "ReLU and its relatives save a tensor of which the backward asks one thing an element: passed or not. "
                "CPU dropout saves its noise, 0 or one other number, as floats; pooling saves indices of 64 bits into "
                "planes of a few thousand elements. A bit an element, or integers of 16 or 32 bits, hold the same. "
                "Found only where nothing else keeps the storage anyway.",
            .options = kOptions,
            .precedence = 1,
            .rewrite_level = static_cast<int>(kRewrite.level)};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const Process& p = context.process;
    const Contents contents(context);
    const Narrow narrow(context);
    Unneeded unneeded(context);
    const Bytes least = options.bytes("min-bytes");
    const std::vector<EvaluationId> evaluations = last_evaluations(p);
    std::vector<uint8_t> seen(size_t{p.allocations.rows()} + 1);
    for (uint32_t row = 1; row <= p.saves.rows(); ++row) {
      const AllocationId allocation = p.saves.allocation[SaveId{row}];
      if (!allocation || std::exchange(seen[allocation.value], 1) != 0 || !context.is_looked_at(allocation, least))
        continue;
      if (contents.has_role(allocation)) continue;
      const Interval kept = kept_by_saves(context, allocation);
      if (kept.begin >= kept.end) continue;
      peak::WhatIf change;
      Bytes instead{};
      Narrow::Kind kind{};
      for (const SaveId save : context.provenance.saves(allocation)) {
        if (is_unneeded(context, unneeded, save)) continue;
        const auto form = narrow.of(save);
        if (!form) {
          change = {};
          break;
        }
        if (change.without.empty()) kind = form->kind;
        instead += form->bytes;
        change.without.push_back(save);
        const Time begin = std::max(p.saves.time[save], kept.begin);
        change.extras.push_back({allocation, {begin, p.saves.released[save]}, form->bytes, true});
        // A rewrite restores a tensor like the saved one for the backward.
        const EvaluationId evaluation = evaluations[p.saves.node[save].value];
        if (context.applied != nullptr && evaluation) {
          change.extras.push_back({allocation,
                                   {p.evaluations.begin[evaluation], p.evaluations.end[evaluation]},
                                   context.text.layout_bytes[p.saves.layout[save]]});
        }
      }
      const Bytes bytes = p.allocations.bytes[allocation] - instead;
      if (change.without.empty() || bytes <= Bytes{}) continue;
      const SaveId save = change.without.front();
      sink.add({.place = place_of(context, save),
                .allocation = allocation,
                .bytes = bytes,
                .when = {p.allocations.time[allocation], p.freed(allocation)},
                .save = save},
               change, kind);
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
      case Narrow::kNoise:
        words.title = what + " (dropout mask) needs 1 bit an element";
        words.message = "Dropout's noise is 0 or one other number, and is saved as " + layout(context, biggest.save) +
                        ". Nothing else holds that memory.";
        break;
      case Narrow::kIndices:
        words.title = what + " needs no 64-bit indices";
        words.message =
            "The indices point into one plane of the pooled tensor, which integers of 16 or 32 bits can do. "
            "They are saved as " +
            layout(context, biggest.save) + ".";
        break;
      default:
        words.title = what + " needs 1 bit an element";
        words.message = "The backward asks of each element only whether its gradient passes; saved is " +
                        layout(context, biggest.save) + ". Nothing else holds that memory.";
    }
    words.notes.emplace_back("Savings are net of the mask, or of the smaller integers.");
    words.fix = {FixKind::rewrite,
                 std::string(kRewrite.id),
                 {},
                 "automatic with --apply lossless; by hand: a torch.autograd.Function that saves the mask (or the "
                 "smaller integers)"};
    return words;
  }

 private:
  static bool is_unneeded(const Context& context, Unneeded& unneeded, SaveId save) {
    return unneeded.of(save) != nullptr &&
           (context.applied == nullptr || context.applied->takes(plugins::unneeded_save::kRewrite.id, save));
  }
  static std::string layout(const Context& context, SaveId save) {
    return layout_text(context.text, context.process.saves.layout[save]);
  }
};

}  // namespace

}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::WideSave)
