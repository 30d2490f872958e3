// Finds concatenations that repeatedly copy the parts of an earlier concatenation.
#include "analyzer/check/check.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <vector>

#include "analyzer/check/content.h"
#include "analyzer/check/frameworks.h"

namespace tapelens::check {

namespace {

constexpr std::array kOptions = {
    Option{"min-bytes", "64KiB", "smaller results are ignored"},
    Option{"min-length", "3", "how many concatenations in a row there must be"},
};

enum Variant : uint32_t { kOutsideOfGraph = 0, kInGraph = 1, kOfTrainer = 2 };

using Growth = std::vector<AllocationId>;  // results; each contains the one before it

// Finds growths: results that each contain the one before. Call add() with the results of concatenations in the order
// of time.
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
      // The result joins the same tensors as the result before, and more.
      if (before.parts.size() < copied.parts.size() &&
          std::equal(before.parts.begin(), before.parts.end(), copied.parts.begin())) {
        growth = same_start->second;
      }
    }
    if (growth == none()) {
      growth = static_cast<uint32_t>(growths_.size());
      growths_.emplace_back();
    } else {
      by_result_.erase(growths_[growth].back().value);  // only the last result of a growth can be continued
    }
    growths_[growth].push_back(result);
    by_result_[result.value] = growth;
    by_first_part_[copied.parts[0].allocation.value] = growth;
  }

  const std::vector<Growth>& all() const { return growths_; }

  static constexpr uint32_t kMostParts = 4096;

 private:
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
    return {
        .id = "growing-concat",
        .title = "concatenations that copy the previous one",
        .help =
            "A loop that appends with cat (outputs, a key/value cache, the features of a DenseNet) copies all earlier "
            "parts in every iteration: n iterations copy n * n / 2 parts. Two results are alive at a time, or all "
            "of them if autograd saves them. One buffer of the final size, written part by part, has the same "
            "content.",
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
    // One fix changes all growths that begin with parts of one storage, such as the keys and values of a cache.
    std::map<uint32_t, std::vector<const Growth*>> by_source;
    for (const Growth& growth : growths.all()) {
      if (growth.size() < shortest) continue;
      by_source[contents.copied(growth.front(), Growths::kMostParts).parts.front().allocation.value].push_back(&growth);
    }
    for (auto at = by_source.begin(); at != by_source.end(); ++at) {
      // A variable may hold the source until the line makes the next source.
      const AllocationId source{at->first};
      const auto next = std::next(at);
      const bool goes_on = next != by_source.end() &&
                           place_of(context, AllocationId{next->first}).stack == place_of(context, source).stack;
      const Time held = goes_on ? p.allocations.time[AllocationId{next->first}] : Time{};
      emit(context, source, at->second, held, sink);
    }
  }

  Description describe(const Context& context, const Group& group) const override {
    const std::string name(context.provenance.name(group.biggest().place.op));
    Description words;
    words.title = name + " in a loop copies the earlier parts again";
    words.message =
        "Each of these results begins with, or contains, the whole previous result. One buffer of the last "
        "result's size can hold all of them.";
    words.notes.push_back("The program copied " + bytes_text(copied_bytes(group)) + " into " +
                          counted(group.occurrences.size(), "result") + " that a later one holds again.");
    if (group.variant == kInGraph) {
      words.severity = Severity::info;
      words.is_proved = false;
      words.message += " Autograd keeps them, and writing into a saved buffer needs a custom autograd function.";
      words.fix = {FixKind::advice,
                   "",
                   {},
                   "Checkpoint the reader of the concatenation (as memory-efficient DenseNets do), or write a "
                   "torch.autograd.Function over one buffer."};
    } else if (group.variant == kOfTrainer) {
      words.title = "Trainer collects the outputs of the whole evaluation";
      words.message =
          "With compute_metrics, Trainer joins the outputs of all batches on the device, and copies them for every "
          "batch. Reduce the outputs before Trainer collects them, and almost nothing is kept.";
      words.fix = {FixKind::advice,
                   "",
                   {},
                   "Trainer(..., preprocess_logits_for_metrics=lambda logits, labels: logits.argmax(-1)), or " +
                       in_framework(context.in_use, Remedy::evaluation_outputs) +
                       ", which moves them to the CPU every N batches"};
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
  static Bytes copied_bytes(const Group& group) {
    Bytes bytes;
    for (const Occurrence& occurrence : group.occurrences) bytes += occurrence.bytes;
    return bytes;
  }

  static bool is_in_graph(const Context& context, AllocationId result) {
    return !context.provenance.saves(result).empty() ||
           !context.provenance.nodes(context.provenance.maker(result)).empty();
  }

  // Whether the Trainer of transformers makes the result, to collect the outputs of an evaluation.
  static bool is_of_trainer(const Context& context, AllocationId result) {
    return std::ranges::any_of(context.text.stack(place_of(context, result).stack), [&](FrameId frame) {
      return context.text.string(context.text.frame_file[frame]).ends_with("/transformers/trainer_pt_utils.py");
    });
  }

  static Variant variant_of(const Context& context, const Growth& growth) {
    if (std::ranges::any_of(growth, [&](AllocationId result) { return is_in_graph(context, result); })) return kInGraph;
    return is_of_trainer(context, growth.front()) ? kOfTrainer : kOutsideOfGraph;
  }

  // The end of the source's last use before the growths. If other operators read the source later, the end of its life.
  static Time last_use(const Context& context, AllocationId source, const std::vector<const Growth*>& together) {
    const Process& p = context.process;
    std::vector<OperatorId> joins;
    for (const Growth* growth : together) joins.push_back(context.provenance.maker(growth->front()));
    std::ranges::sort(joins);
    const Time first = p.operators.begin[joins.front()];
    Time last = p.operators.end[context.provenance.maker(source)];
    for (const OperatorId use : context.provenance.uses(source)) {
      if (std::ranges::binary_search(joins, context.provenance.called(use))) continue;
      if (p.operators.begin[use] >= first) return p.freed(source);
      last = std::max(last, p.operators.end[use]);
    }
    return std::min(last, p.freed(source));
  }

  void emit(const Context& context, AllocationId source, const std::vector<const Growth*>& together, Time held,
            Sink& sink) {
    const Process& p = context.process;
    const Time read = std::min(std::max(last_use(context, source, together), held), p.freed(source));
    const Place place = place_of(context, together.front()->front());
    for (const Growth* growth : together) {
      const Variant variant = variant_of(context, *growth);
      const AllocationId last = growth->back();
      for (const AllocationId result : *growth) {
        const bool is_last = result == last;
        if (is_last && variant != kOfTrainer) break;
        const Time birth = p.allocations.time[result];
        peak::WhatIf change;
        change.never_make(p, result);
        if (result == growth->front()) begin_buffer(context, source, read, last, variant, change);
        sink.add({.place = place,
                  .allocation = result,
                  .bytes = p.allocations.bytes[result],
                  .when = {birth, p.freed(result)}},
                 change, variant);
      }
    }
  }

  // The buffer has the size of the last result, and exists from its first part on. The Trainer needs no buffer.
  void begin_buffer(const Context& context, AllocationId source, Time read, AllocationId last, Variant variant,
                    peak::WhatIf& change) {
    const Process& p = context.process;
    const bool ends = variant != kInGraph && read < p.freed(source) && !is_in_graph(context, source);
    if (ends) change.ends.push_back({source, read});
    if (variant == kOfTrainer) return;
    // A program makes the buffers of all layers before the loop begins.
    const AllocationId first = change.ends.front().allocation;
    const Time joined = p.allocations.time[last];
    Interval& chain = chains_[place_of(context, first).stack];
    const Time begin = p.allocations.time[ends ? source : first];
    if (!chain.contains(begin)) chain.begin = begin;
    chain.end = std::max(chain.end, joined);
    change.extras.push_back({{}, {chain.begin, joined}, p.allocations.bytes[last]});
  }

  std::map<StackId, Interval> chains_;  // by line of the first results: life of the line's buffers
};

}  // namespace

}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::GrowingConcat)
