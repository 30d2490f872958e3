// Tensors that custom functions keep on ctx itself, unknown to autograd and its hooks.
#include "analyzer/check/check.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "analyzer/model/words.h"
#include "trace/record.h"

namespace tapelens::check {
namespace {

constexpr std::array kOptions = {
    Option{"min-bytes", "1MiB", "smaller tensors are ignored"},
};

class CtxStash final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "ctx-stash",
            .title = "tensors kept on ctx instead of saved",
            .help =
                "A torch.autograd.Function that assigns a tensor to an attribute of ctx keeps it until its node dies. "
                "The backward does not release it. Checkpointing, save_on_cpu and other saved-tensor hooks do not see "
                "it. If it is an output of the function, it forms a cycle that only the garbage collector frees. "
                "ctx.save_for_backward avoids all of this.",
            .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const Process& p = context.process;
    const Bytes least = options.bytes("min-bytes");
    const auto released = releases(p);
    std::vector<bool> has_role(size_t{p.allocations.rows()} + 1);
    for (const uint32_t allocation : p.roles.allocation.raw) has_role[allocation] = true;
    for (const uint32_t allocation : p.nodes.parameter.raw) has_role[allocation] = true;
    for (uint32_t row = 1; row <= p.held.rows(); ++row) {
      const model::HeldId held{row};
      const AllocationId allocation = p.held.allocation[held];
      if (p.held.by[held] != trace::HeldBy::context || !allocation || !p.held.node[held]) continue;
      if (p.allocations.bytes[allocation] < least || p.allocations.device[allocation] != context.device) continue;
      // torch.compile wrote this function, so the user cannot change it.
      if (model::is_compiled(context.text.string(p.nodes.type[p.held.node[held]]))) continue;
      // A save or a role keeps the tensor without ctx.
      if (!context.provenance.saves(allocation).empty() || has_role[allocation.value]) continue;
      const Interval when{p.allocations.time[allocation], p.freed(allocation)};
      peak::WhatIf change;
      if (const auto end = released.find(p.held.node[held].value); end != released.end())
        change.ends.push_back({allocation, std::min(Time{end->second}, when.end)});
      sink.add({.place = place_of(context, p.held.node[held]),
                .allocation = allocation,
                .bytes = p.allocations.bytes[allocation],
                .when = when,
                .number = row},
               change);
    }
  }

  Description describe(const Context& context, const Group& group) const override {
    const Process& p = context.process;
    const model::HeldId held{static_cast<uint32_t>(group.biggest().number)};
    const std::string attribute = "ctx." + std::string(context.text.string(p.held.field[held]));
    Description words;
    words.severity = Severity::info;
    words.title = std::string(context.text.string(p.nodes.type[p.held.node[held]])) + " keeps " + attribute;
    words.message = "It stays until the node dies: the backward does not release it, and no saved-tensor hook sees it.";
    words.fix.text = "Pass it to ctx.save_for_backward, and read it from ctx.saved_tensors.";
    return words;
  }

 private:
  // By node with an attribute on its ctx: the end of its evaluation in a backward that releases the graph.
  static std::unordered_map<uint32_t, int64_t> releases(const Process& p) {
    std::unordered_map<uint32_t, int64_t> ends;
    for (uint32_t row = 1; row <= p.held.rows(); ++row) ends.emplace(p.held.node.raw[row], -1);
    for (uint32_t row = 1; row <= p.evaluations.rows(); ++row) {
      if ((p.evaluations.flags.raw[row] & trace::kEvaluationReleases) == 0) continue;
      const auto at = ends.find(p.evaluations.node.raw[row]);
      if (at != ends.end()) at->second = static_cast<int64_t>(p.evaluations.end.raw[row]);
    }
    std::erase_if(ends, [](const auto& end) { return end.second < 0; });
    return ends;
  }
};

}  // namespace
}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::CtxStash)
