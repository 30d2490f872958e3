// Predicts the memory of cross entropies that are computed by chunks of rows.
#include "analyzer/check/check.h"

#include <algorithm>

#include "plugins/loss-rows/losses.h"

namespace tapelens::check {
namespace {

using plugins::loss_rows::kRewrite;

class LossRows final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = kRewrite.id,
            .title = "cross entropies by chunks of rows",
            .help =
                "Predicts the rewrite with this name: --apply bitwise computes the log-probabilities and the gradients "
                "of a cross entropy for a chunk of rows at a time, and keeps the logits instead. Without --apply the "
                "check reports nothing; logits-peak finds such losses.",
            .precedence = 1,
            .rewrite_level = static_cast<int>(kRewrite.level)};
  }

  void run(const Context& context, const Options&, Sink& sink) override {
    if (context.applied == nullptr) return;
    for (const LossByRows& loss : losses_by_rows(context)) add(context, loss, sink);
  }

  Description describe(const Context&, const Group& group) const override {
    Description words;
    words.severity = Severity::info;
    words.title = kRewrite.title;
    words.message = "The cross entropy keeps the logits, and makes " + bytes_text(group.bytes) +
                    " of log-probabilities and gradients for a chunk of rows at a time.";
    words.fix = {FixKind::rewrite, std::string(kRewrite.id), {}, "tapelens run --apply bitwise", true};
    return words;
  }

 private:
  static void add(const Context& context, const LossByRows& loss, Sink& sink) {
    const Process& p = context.process;
    const AllocationId result = p.saves.allocation[loss.result];
    const Bytes whole = p.allocations.bytes[p.saves.allocation[loss.input]];
    peak::WhatIf change;
    change.without = {loss.input, loss.result};
    for (const AllocationId matrix : loss.never_made) change.never_make(p, matrix);
    change.keeps.push_back({result, loss.kept, loss.gradient_is_there});
    const bool is_sole = context.lifetimes.program_end(loss.kept) < loss.backward_begins &&
                         context.provenance.saves(loss.kept).empty() &&
                         p.allocations.bytes[loss.kept] == p.allocations.bytes[loss.gradient];
    if (is_sole) change.aliases.push_back({loss.gradient, loss.kept});
    // A chunk of log-probabilities and of their cast; in the backward also of the loss' gradient.
    const auto chunk = [&](int64_t times) {
      return Bytes{whole.value / std::max<int64_t>(loss.size.rows, 1) * rows_at_once(loss.size) * times};
    };
    change.extras.push_back({{}, {p.operators.begin[loss.op], p.operators.end[loss.op]}, chunk(2)});
    change.extras.push_back({{}, {loss.backward_begins, loss.gradient_is_there}, chunk(3)});
    sink.add({.place = place_of(context, loss.input),
              .allocation = p.saves.allocation[loss.input],
              .bytes = whole,
              .when = {p.allocations.time[result], loss.backward_begins},
              .save = loss.input},
             change);
  }
};

}  // namespace
}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::LossRows)
