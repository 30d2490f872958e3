// Finds the temporaries that an optimizer's foreach step makes for all parameters at once.
#include "analyzer/check/check.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/check/frameworks.h"
#include "analyzer/model/most_at_once.h"
#include "plugins/optimizer-temporaries/rule.h"

namespace tapelens::check {
namespace {

constexpr std::array kOptions = {
    Option{"min-share", "5", "percent of the peak that the temporaries must be"},
};

using plugins::optimizer_temporaries::kPartInLeastBytes;
using plugins::optimizer_temporaries::kRewrite;

// Optimizers of torch.optim that support fused=True.
constexpr std::string_view kFused[] = {"Adam", "AdamW", "SGD", "Adagrad"};

struct Temporary {
  AllocationId allocation;
  OperatorId maker;
};

Bytes most_of(const Process& p, const std::vector<Temporary>& temporaries) {
  std::vector<Presence> all;
  for (const auto& [allocation, maker] : temporaries) {
    all.push_back({allocation, p.allocations.bytes[allocation], {p.allocations.time[allocation], p.freed(allocation)}});
  }
  return most_at_once(std::move(all));
}

// The bytes at one moment if the step runs in parts. An operator makes a list with a temporary for each parameter.
Bytes in_parts(const Process& p, const std::vector<Temporary>& temporaries, Bytes part) {
  std::map<OperatorId, Bytes> lists;
  Bytes largest_list;
  for (const Temporary& one : temporaries) {
    const Bytes bytes = p.allocations.bytes[one.allocation];
    part = std::max(part, bytes);
    largest_list = std::max(largest_list, lists[one.maker] += bytes);
  }
  const Bytes most = most_of(p, temporaries);
  if (largest_list <= part) return most;
  return Bytes{static_cast<int64_t>(static_cast<double>(most.value) / static_cast<double>(largest_list.value) *
                                    static_cast<double>(part.value))};
}

class OptimizerTemporaries final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "optimizer-temporaries",
            .title = "temporaries of an optimizer's foreach step",
            .help =
                "On CUDA the optimizers of torch.optim compute with lists of all parameters (foreach): each "
                "intermediate of the formula is as large as all of them, at the moment at which parameters, gradients "
                "and state are there as well. fused=True computes in one kernel and makes none; foreach=False makes "
                "those of one parameter at a time.",
            .options = kOptions,
            .rewrite_level = static_cast<int>(kRewrite.level)};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const Process& p = context.process;
    const Bytes share = options.share("min-share", context.peak.bytes);
    std::vector<uint8_t> is_foreach(context.text.string_begin.size());
    for (const OperatorId op : p.operators.ids()) {
      const StringId name = p.operators.name[op];
      if (is_foreach[name.value] == 0) {
        is_foreach[name.value] = context.text.string(name).starts_with("aten::_foreach_") ? 1 : 2;
      }
    }
    std::map<const OptimizerStep*, std::vector<Temporary>> by_step;
    Bytes at_peak;
    auto step = p.optimizer_steps.begin();
    for (const AllocationId allocation : context.allocations(Bytes{1})) {
      const Time made = p.allocations.time[allocation];
      while (step != p.optimizer_steps.end() && step->when.end <= made) ++step;
      if (step == p.optimizer_steps.end()) break;
      const OperatorId maker = context.provenance.maker(allocation);
      if (made < step->when.begin || !maker || is_foreach[p.operators.name[maker].value] != 1) continue;
      if (p.freed(allocation) > step->when.end) continue;
      by_step[&*step].push_back({allocation, maker});
      if (context.peak.when.holds(p, allocation)) at_peak += p.allocations.bytes[allocation];
    }
    if (context.applied == nullptr && at_peak < std::max(share, Bytes{1})) return;
    for (const auto& [of, temporaries] : by_step) {
      std::optional<Bytes> parts;
      if (context.applied != nullptr) {
        parts = in_parts(p, temporaries, Bytes{kPartInLeastBytes * context.applied->min_bytes().value});
        if (*parts >= most_of(p, temporaries)) continue;
      }
      for (const auto& [allocation, maker] : temporaries) {
        // The place has only the line, because the step makes temporaries with many operators.
        Place place{};
        place.stack = place_of(context, allocation).stack;
        peak::WhatIf change;
        change.never_make(p, allocation);
        if (parts) change.extras.push_back({{}, of->when, *std::exchange(parts, Bytes{})});
        sink.add({.place = place,
                  .allocation = allocation,
                  .bytes = p.allocations.bytes[allocation],
                  .when = {p.allocations.time[allocation], p.freed(allocation)},
                  .number = of->optimizer.value},
                 change);
      }
    }
  }

  Description describe(const Context& context, const Group& group) const override {
    const std::string_view name = context.text.string(StringId{static_cast<uint32_t>(group.biggest().number)});
    const std::string optimizer(
        name.substr(0, name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")));
    const bool has_fused = std::ranges::find(kFused, optimizer) != std::end(kFused);
    Description words;
    words.severity = Severity::info;
    words.title = "the optimizer's foreach step makes temporaries of all parameters";
    words.message = "The step of " + optimizer + " computes with all parameters at once, and makes " +
                    bytes_text(group.bytes) + " of intermediates while gradients and state are there.";
    words.notes.emplace_back("foreach=False computes the same, one parameter after the other, and is slower.");
    if (has_fused)
      words.notes.emplace_back("The prediction is for fused=True, which may round the last bits differently.");
    const std::string phrase =
        optimizer == "AdamW" ? in_framework(context.in_use, Remedy::fused_optimizer) : std::string();
    words.fix.text = !phrase.empty() ? phrase
                     : has_fused     ? "torch.optim." + optimizer + "(..., fused=True), or foreach=False"
                                     : "give the optimizer foreach=False";
    words.fix.is_small = true;
    return words;
  }
};

}  // namespace
}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::OptimizerTemporaries)
