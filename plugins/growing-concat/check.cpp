// Concatenations that copy, over and over, what an earlier one has joined already.
#include "analyzer/check/check.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "analyzer/check/content.h"

namespace tapelens::check {

namespace {

constexpr std::array kOptions = {
    Option{"min-bytes", "64KiB", "results of less are not looked at"},
    Option{"min-length", "3", "how many concatenations in a row there must be"},
};

enum Variant : uint32_t { kOutsideOfGraph = 0, kInGraph = 1 };

using Growth = std::vector<AllocationId>;  // results, each of which holds the one before it

// Finds growths: results that each hold the one before, while it is shown the results of concatenations in the order of
// time.
class Growths {
 public:
  explicit Growths(const Contents& contents) : contents_(contents) {}

  void add(AllocationId result) {
    const Copied copied = contents_.copied(result, kMostParts);
    if (copied.parts.size() < 2) return;
    uint32_t growth = none();
    for (const View& part : copied.parts) {
      if (const auto at = by_result_.find(part.allocation.value); at != by_result_.end())
        growth = longer(growth, at->second);
    }
    const auto same_start = by_first_part_.find(copied.parts[0].allocation.value);
    if (growth == none() && same_start != by_first_part_.end()) {
      const Copied before = contents_.copied(growths_[same_start->second].back(), kMostParts);
      // The same tensors again, and more of them.
      if (before.parts.size() < copied.parts.size() &&
          std::equal(before.parts.begin(), before.parts.end(), copied.parts.begin())) {
        growth = same_start->second;
      }
    }
    if (growth == none()) {
      growth = static_cast<uint32_t>(growths_.size());
      growths_.emplace_back();
    } else {
      by_result_.erase(growths_[growth].back().value);  // the next of a growth holds its last
    }
    growths_[growth].push_back(result);
    by_result_[result.value] = growth;
    by_first_part_[copied.parts[0].allocation.value] = growth;
  }

  const std::vector<Growth>& all() const { return growths_; }

 private:
  static constexpr uint32_t kMostParts = 4096;
  static constexpr uint32_t none() { return UINT32_MAX; }
  uint32_t longer(uint32_t a, uint32_t b) const {
    return a == none() || growths_[b].size() > growths_[a].size() ? b : a;
  }

  const Contents& contents_;
  std::vector<Growth> growths_;
  std::unordered_map<uint32_t, uint32_t> by_result_, by_first_part_;  // allocation to growth
};

class GrowingConcat final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "growing-concat",
            .title = "concatenations that copy the former one",
            .help =
                "A loop that appends with cat (outputs, a key/value cache, the features of a DenseNet) copies at every "
                "turn all that it has joined before: n turns copy n * n / 2 parts, two results are there at a time, "
                "and where autograd saves them, all of them. One buffer of the final size, written part by part, "
                "holds the same.",
            .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const Process& p = context.process;
    const Contents contents(context);
    const NameSet joining(context.text, {"aten::cat", "aten::_cat"});
    const Bytes least = options.bytes("min-bytes");
    const auto shortest = static_cast<size_t>(std::max<int64_t>(2, options.number("min-length")));
    Growths growths(contents);
    for (const AllocationId result : context.allocations(least)) {
      if (!joining.has(p.operators.name[p.allocations.op[result]]) || contents.is_of_backward(result)) continue;
      if (contents.is_called_copy(context.provenance.maker(result))) growths.add(result);
    }
    for (const Growth& growth : growths.all()) {
      if (growth.size() >= shortest) emit(context, growth, sink);
    }
  }

  Description describe(const Context& context, const Group& group) const override {
    const std::string name(context.provenance.name(group.biggest().place.op));
    Description words;
    words.title = name + " in a loop copies the earlier parts again";
    words.message =
        "Each of these results begins with, or contains, all of the one before it. One buffer of the last "
        "one's size could hold them all.";
    words.notes.push_back("Copied " + std::to_string(copied_bytes(group)) + " bytes in " +
                          std::to_string(group.occurrences.size()) + " results that a later one holds again.");
    if (group.variant == kInGraph) {
      words.severity = Severity::info;
      words.is_proved = false;
      words.message += " Autograd keeps them, and writing into a buffer that is saved needs a function of its own.";
      words.fix = {FixKind::advice,
                   "",
                   {},
                   "Checkpoint what reads the concatenation (memory-efficient DenseNets do), or write a "
                   "torch.autograd.Function over one buffer."};
    } else {
      words.fix = {
          FixKind::advice,
          "",
          {},
          "Allocate the final size once and write each part into its slice; if the size is not known, double it."};
    }
    return words;
  }

 private:
  static int64_t copied_bytes(const Group& group) {
    int64_t bytes = 0;
    for (const Occurrence& occurrence : group.occurrences) bytes += occurrence.bytes.value;
    return bytes;
  }

  static void emit(const Context& context, const Growth& growth, Sink& sink) {
    const Process& p = context.process;
    const auto is_in_graph = [&](AllocationId result) {
      return !context.provenance.saves(result).empty() ||
             !context.provenance.nodes(context.provenance.maker(result)).empty();
    };
    const Variant variant = std::ranges::any_of(growth, is_in_graph) ? kInGraph : kOutsideOfGraph;
    const AllocationId last = growth.back();
    for (const AllocationId result : growth) {
      if (result == last) break;
      const Time birth = p.allocations.time[result];
      peak::WhatIf change;
      change.ends.push_back({result, Time{birth.ns - 1}});
      // The one buffer is there from the first result on, and is what the last one was.
      if (result == growth.front())
        change.extras.push_back({result, {birth, p.allocations.time[last]}, p.allocations.bytes[last]});
      sink.add({.place = place_of(context, result),
                .allocation = result,
                .bytes = p.allocations.bytes[result],
                .when = {birth, p.freed(result)}},
               change, variant);
    }
  }
};

}  // namespace

}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::GrowingConcat)
