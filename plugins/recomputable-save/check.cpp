// Saved tensors that a cheap operator recomputes from others that are held for another reason.
#include "analyzer/check/check.h"

#include <algorithm>
#include <array>

#include "plugins/recomputable-save/recipes.h"
#include "plugins/recomputable-save/recomputed.h"
#include "plugins/recomputable-save/rule.h"

namespace tapelens::check {

namespace {

using plugins::recomputable_save::kRewrite;

constexpr std::array kOptions = {
    Option{"min-bytes", "64KiB", "smaller saves are ignored"},
    Option{"max-operators", "3", "longest chain of cheap operators from a kept tensor to the save"},
};

class RecomputableSave final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = kRewrite.id,
            .title = "saves that a cheap operator can recompute",
            .help =
                "An activation between two layers is often kept twice: by its own node as input, and by the next layer "
                "as the result. The result is a pointwise operator or a normalisation away from the input: GELU's "
                "and SiLU's result, LayerNorm's, ReLU of BatchNorm, softmax times a mask, casts of weights. "
                "Recomputed when the backward reads it, it has the same bits and costs one pass over memory.",
            .options = kOptions,
            .precedence = 2,
            .rewrite_level = static_cast<int>(kRewrite.level)};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    if (context.applied != nullptr) {
      predict(context, sink);
      return;
    }
    const Process& p = context.process;
    const Contents contents(context);
    const Bytes least = options.bytes("min-bytes");
    Recipes recipes(context, contents,
                    static_cast<uint32_t>(std::clamp<int64_t>(options.number("max-operators"), 1, 100)));
    const std::vector<EvaluationId> evaluations = last_evaluations(p);
    for (const AllocationId allocation : context.allocations(least)) {
      if (contents.has_role(allocation) || contents.is_of_backward(allocation)) continue;
      const Recipes::Recipe recipe = recipes.read(allocation);
      const auto saves = context.provenance.saves(allocation);
      if (recipe.operators == 0 || saves.empty()) continue;
      const Interval kept = kept_by_saves(context, allocation);
      if (kept.begin >= kept.end || recipe.until < last_release(context, allocation)) continue;
      peak::WhatIf change;
      for (const SaveId save : saves) {
        change.without.push_back(save);
        if (const EvaluationId evaluation = evaluations[p.saves.node[save].value]) {
          change.extras.push_back({allocation,
                                   {p.evaluations.begin[evaluation], p.evaluations.end[evaluation]},
                                   p.allocations.bytes[allocation]});
        }
      }
      for (const AllocationId source : recipe.sources) {
        change.keeps.push_back({allocation, source, last_release(context, allocation)});
      }
      recipes.drop(allocation);
      sink.add({.place = place_of(context, saves.front()),
                .allocation = allocation,
                .bytes = p.allocations.bytes[allocation],
                .when = {p.allocations.time[allocation], p.freed(allocation)},
                .save = saves.front(),
                .number = (uint64_t{recipe.last.value} << 8) | recipe.operators},
               change, variant_of(context.provenance.name(recipe.last)));
    }
  }

  Description describe(const Context& context, const Group& group) const override {
    const Process& p = context.process;
    const Occurrence& biggest = group.biggest();
    const std::string field = std::string(context.text.string(p.nodes.type[biggest.place.node])) + "." +
                              std::string(context.text.string(biggest.place.field));
    const std::string op(context.provenance.name(OperatorId{static_cast<uint32_t>(biggest.number >> 8)}));
    const uint64_t operators = biggest.number & 0xff;
    Description words;
    words.severity = Severity::info;
    words.title = field + " can be recomputed by " + op;
    words.message =
        "The input of " + op + " is saved anyway" +
        (operators > 1 ? ", or recomputed by cheap operators, " + std::to_string(operators) + " in a row in all"
                       : std::string()) +
        "; recomputing the output in backward is bit-identical.";
    words.notes.emplace_back("The estimate includes recomputing it for each node that saved it.");
    words.fix = {
        FixKind::rewrite,
        std::string(kRewrite.id),
        {},
        "automatic with --apply bitwise; by hand: checkpoint the operator together with the layer that reads it"};
    return words;
  }

 private:
  // Variants are numbered by the recomputing operator, equally in every recording.
  static uint32_t variant_of(std::string_view op) {
    uint32_t hash = 2166136261;
    for (const char c : op) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619;
    return hash;
  }
  // Predicts exactly the releases of the rewrite.
  static void predict(const Context& context, Sink& sink) {
    const Process& p = context.process;
    Recomputed recomputed(context);
    std::vector<Recomputed::Found> all = recomputed.all();
    const auto cost_of_steps = static_cast<double>(std::max<uint64_t>(recomputed.cost_of_steps(), 1));
    for (Recomputed::Found& found : all) {
      const AllocationId allocation = found.allocation;
      const Bytes bytes = p.allocations.bytes[allocation];
      const Interval again = found.again;
      const Time last = last_release(context, allocation);
      peak::WhatIf change;
      change.extras.push_back({allocation, {context.lifetimes.program_end(allocation), last}, found.small, true});
      if (again.begin < again.end) {
        change.extras.push_back({allocation, again, bytes});
        change.extras.push_back({allocation, {again.begin, Time{again.begin.ns + 1}}, found.most - bytes});
      }
      for (const auto& copy : found.copies) change.extras.push_back({allocation, {copy.since, last}, copy.bytes, true});
      for (const AllocationId source : found.sources) change.keeps.push_back({allocation, source, last});
      change.without = std::move(found.saves);
      const SaveId save = change.without.front();
      sink.add({.place = place_of(context, save),
                .allocation = allocation,
                .bytes = bytes,
                .when = {p.allocations.time[allocation], p.freed(allocation)},
                .save = save,
                .number = (uint64_t{found.last.value} << 8) | std::min<uint32_t>(found.operators, 255),
                .repeated = found.duration,
                .repeated_share = static_cast<double>(found.cost) / cost_of_steps},
               change, variant_of(context.provenance.name(found.last)));
    }
  }
};

}  // namespace

}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::RecomputableSave)
