// Finds lines that make a new model repeatedly while the old models stay in memory.
#include "analyzer/check/check.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace tapelens::check {
namespace {

constexpr std::array kOptions = {
    Option{"min-share", "10", "percent of the peak that the old models must be"},
};

// A parameter or buffer of an old model.
struct Old {
  AllocationId parameter;
  Time replaced;  // time at which the next model is complete; a variable may hold this model until then
  StackId stack;
};

class RepeatedModel final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "repeated-model",
            .title = "old models that stay in memory after their replacement",
            .help =
                "A line that makes a model repeatedly (a search over settings, folds of a cross-validation) should "
                "release the old model. A hook or a closure that refers to the model makes a reference cycle. Python "
                "frees the cycle when its garbage collector runs; until then every old model stays in memory.",
            .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const Process& p = context.process;
    const Bytes share = options.share("min-share", context.peak.bytes);
    std::map<FrameId, std::vector<Old>> lines = old_models(context);
    for (const auto& [line, all] : lines) {
      Bytes at_peak;
      std::set<Time> models;
      for (const Old& old : all) {
        if (old.replaced > context.peak.when.time || !context.peak.when.holds(p, old.parameter)) continue;
        at_peak += p.allocations.bytes[old.parameter];
        models.insert(old.replaced);
      }
      // The variable may hold one old model until it gets the new one.
      if (models.size() < 2 || at_peak < std::max(share, Bytes{1})) continue;
      for (const Old& old : all) {
        Place place{};
        place.stack = all.front().stack;
        peak::WhatIf change;
        change.ends.push_back({old.parameter, old.replaced});
        sink.add({.place = place,
                  .allocation = old.parameter,
                  .bytes = p.allocations.bytes[old.parameter],
                  .when = {old.replaced, p.freed(old.parameter)},
                  .number = line.value},
                 change);
      }
    }
  }

  Description describe(const Context&, const Group& group) const override {
    Description words;
    words.severity = Severity::info;
    words.title = "old models stay in memory after their replacement";
    words.message = bytes_text(group.bytes) +
                    " of parameters belong to models that this line has replaced. No operator reads them any more.";
    words.notes.emplace_back("The prediction keeps the previous model until the next one is complete.");
    words.fix.text =
        "break the reference cycle: use weak references to the model in its hooks and closures (weakref.proxy(self)), "
        "or remove the hooks; keep no models in a list. gc.collect() after each model frees cycles";
    words.fix.is_small = true;
    words.edit = {FrameId{static_cast<uint32_t>(group.biggest().number)}, 0};
    return words;
  }

 private:
  static FrameId outermost_own(const Text& text, StackId stack) {
    FrameId outermost;
    for (const FrameId frame : text.stack(stack)) {
      if (is_own_frame(text, frame)) outermost = frame;
    }
    return outermost;
  }

  static Time last_use(const Context& context, AllocationId allocation) {
    const Process& p = context.process;
    Time last = p.allocations.time[allocation];
    for (const OperatorId use : context.provenance.uses(allocation)) last = std::max(last, p.operators.end[use]);
    for (const SaveId save : context.provenance.saves(allocation)) last = std::max(last, p.saves.released[save]);
    return last;
  }

  // By the program's line that makes the models.
  static std::map<FrameId, std::vector<Old>> old_models(const Context& context) {
    const Process& p = context.process;
    using Key = std::tuple<FrameId, StringId, int64_t>;  // line, name, bytes
    std::map<Key, std::vector<AllocationId>> instances;
    std::vector<uint8_t> is_seen(p.allocations.rows() + 1);
    for (const RoleId role : p.roles.allocation.ids()) {
      const AllocationId allocation = p.roles.allocation[role];
      const bool is_of_model = p.roles.kind[role] == Role::parameter || p.roles.kind[role] == Role::buffer;
      if (!is_of_model || !p.roles.name[role] || is_seen[allocation.value] != 0) continue;
      if (p.allocations.device[allocation] != context.device) continue;
      is_seen[allocation.value] = 1;
      const FrameId line = outermost_own(context.text, stack_of(p, context.text, allocation));
      if (line) instances[{line, p.roles.name[role], p.allocations.bytes[allocation].value}].push_back(allocation);
    }
    std::map<FrameId, std::vector<Time>> complete;  // by line: completion times of its models
    for (auto& [key, all] : instances) {
      std::ranges::sort(all);
      std::vector<Time>& times = complete[std::get<FrameId>(key)];
      if (times.size() < all.size()) times.resize(all.size());
      for (size_t at = 0; at < all.size(); ++at)
        times[at] = std::max(times[at], Time{p.allocations.time[all[at]].ns + 1});
    }
    std::map<FrameId, std::vector<Old>> lines;
    for (const auto& [key, all] : instances) {
      const FrameId line = std::get<FrameId>(key);
      for (size_t at = 0; at + 1 < all.size(); ++at) {
        const Time replaced = complete[line][at + 1];
        if (last_use(context, all[at]) > p.allocations.time[all[at + 1]] || p.freed(all[at]) <= replaced) continue;
        lines[line].push_back({all[at], replaced, stack_of(p, context.text, all[at])});
      }
    }
    return lines;
  }
};

}  // namespace
}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::RepeatedModel)
