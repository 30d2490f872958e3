// Finds intermediates that operators make from much smaller tensors, and reduce to much smaller tensors.
#include "analyzer/check/check.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "plugins/reduced-intermediate/regions.h"

namespace tapelens::check {
namespace {

using reduced::Form;
using reduced::Region;

constexpr std::array kOptions = {
    Option{"chunks", "16", "into how many chunks the computation would be cut"},
    Option{"min-share", "20", "percent of the peak that the intermediates of one line must be"},
    Option{"ratio", "8", "least ratio of the intermediates' size to the size of their inputs, and of their results"},
};

class ReducedIntermediate final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "reduced-intermediate",
            .title = "large intermediates that are soon reduced",
            .help =
                "Tensors that an operator makes from far less (broadcasting two small tensors, scattering into zeros, "
                "all rows of a Jacobian at once), and that a later operator reduces to far less (sum, max, index). "
                "Computed in chunks, or in a form that never makes them, the result is the same and most of the peak "
                "is gone.",
            .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    chunks_ = std::clamp<int64_t>(options.number("chunks"), 2, 1 << 20);
    const int64_t ratio = std::clamp<int64_t>(options.number("ratio"), 2, 1 << 20);
    const Bytes least = options.share("min-share", context.peak.bytes);
    run_gathered(context, least, sink);
    run_one_hot(context, least, ratio, sink);
    const Bytes largest = largest_at_peak(context);
    // Ignores peaks whose largest intermediate is much smaller than `least`.
    if (largest.value < least.value / ratio || largest.value < ratio) return;
    const std::vector<Region> regions = reduced::find_regions(context, Bytes{largest.value / ratio}, ratio);
    std::set<StackId> lines;
    for (const Region& region : regions) {
      if (bytes_at_peak(context, region) >= least) lines.insert(place_of(context, region.largest).stack);
    }
    for (const Region& region : regions) {
      if (lines.contains(place_of(context, region.largest).stack)) emit(context, region, sink);
    }
  }

  Description describe(const Context& context, const Group& group) const override {
    const auto form = static_cast<Form>(group.variant);
    const Occurrence& biggest = group.biggest();
    const std::string kept = bytes_text(Bytes{static_cast<int64_t>(biggest.number)});
    Description words;
    words.severity = Severity::info;
    words.fix.is_small = form == Form::transform;
    words.message = bytes_text(group.bytes) + " of intermediates are alive at once. The largest, " +
                    bytes_text(biggest.bytes) + " of " + std::string(context.provenance.name(biggest.place.op)) +
                    ", is made from far less, and " + kept + " of results are kept.";
    say_form(context, biggest, group.bytes, form, words);
    return words;
  }

 private:
  static Bytes largest_at_peak(const Context& context) {
    Bytes largest;
    for (const peak::Member& member : context.peak.members) {
      const auto holders = context.peak.holders_of(member);
      const bool is_intermediate = std::ranges::all_of(holders, [](const peak::Holder& holder) {
        using enum peak::HolderKind;
        return holder.kind == program || holder.kind == op || holder.kind == gradient || holder.kind == save;
      });
      if (is_intermediate) largest = std::max(largest, member.bytes);
    }
    return largest;
  }

  static Bytes bytes_at_peak(const Context& context, const Region& region) {
    Bytes bytes;
    for (const AllocationId member : region.members) {
      if (context.peak.when.holds(context.process, member)) bytes += context.process.allocations.bytes[member];
    }
    return bytes;
  }

  void run_gathered(const Context& context, Bytes least, Sink& sink) const {
    const Process& p = context.process;
    const std::vector<reduced::Gathered> all = reduced::find_gathered(context, std::max(least, Bytes{1}));
    std::set<StackId> lines;
    for (const reduced::Gathered& one : all) {
      if (context.peak.when.holds(p, one.result)) lines.insert(place_of(context, one.result).stack);
    }
    for (const reduced::Gathered& one : all) {
      const Place place = place_of(context, one.result);
      if (!lines.contains(place.stack)) continue;
      const int64_t parts = one.rows > 1 ? static_cast<int64_t>(std::min<uint64_t>(one.rows, 1 << 20)) : chunks_;
      const Interval life{p.allocations.time[one.result], p.freed(one.result)};
      const Bytes bytes = p.allocations.bytes[one.result];
      peak::WhatIf change;
      shrink(context, one.result, parts, change);
      change.extras.back().when.end = p.operators.end[one.op];
      // logsumexp makes no such temporaries.
      for (const AllocationId temporary : one.temporaries) shrink(context, temporary, 0, change);
      sink.add({.place = place,
                .allocation = one.result,
                .bytes = bytes,
                .when = life,
                .number = static_cast<uint64_t>(parts)},
               change, static_cast<uint32_t>(Form::gather));
    }
  }

  static void run_one_hot(const Context& context, Bytes least, int64_t ratio, Sink& sink) {
    const Process& p = context.process;
    const std::vector<reduced::OneHot> all =
        reduced::find_one_hot(context, Bytes{std::max(least.value / ratio, ratio)});
    std::map<StackId, Bytes> lines;  // bytes at the peak
    for (const reduced::OneHot& one : all) {
      if (context.peak.when.holds(p, one.allocation)) {
        lines[place_of(context, one.allocation).stack] += p.allocations.bytes[one.allocation];
      }
    }
    for (const reduced::OneHot& one : all) {
      Place place = place_of(context, one.allocation);
      place.op = {};  // one line may make the tensor and its cast
      if (const auto line = lines.find(place.stack); line == lines.end() || line->second < least) continue;
      peak::WhatIf change;
      const Interval life = shrink(context, one.allocation, 0, change);
      sink.add(
          {.place = place, .allocation = one.allocation, .bytes = p.allocations.bytes[one.allocation], .when = life},
          change, static_cast<uint32_t>(one.form));
    }
  }

  void say_form(const Context& context, const Occurrence& biggest, Bytes bytes, Form form, Description& words) const {
    const std::string chunks = std::to_string(chunks_);
    switch (form) {
      case Form::transform: {
        const reduced::Transform transform = reduced::transform_of(context.text, biggest.place.stack);
        const bool has_chunks = transform.name == "jacrev" || transform.name == "vmap";
        words.title = "torch.func." + std::string(transform.name) + " computes all rows at once";
        words.notes.push_back("The prediction is for 1/" + chunks + " of the rows at a time.");
        words.fix.text = has_chunks ? std::string(transform.name) + "(..., chunk_size=N), with N = rows / " + chunks +
                                          " (for a Jacobian, elements of the output / " + chunks + ")"
                                    : "torch.func.jacrev(..., chunk_size=N), with N = elements of the output / " +
                                          chunks + ": " + std::string(transform.name) + " has no chunk_size";
        words.edit = {transform.caller, 0};
        return;
      }
      case Form::scatter:
        words.title = "a table of zeros is filled and then reduced";
        words.notes.emplace_back("The prediction is for a table of the result's shape.");
        words.fix.text =
            "reduce into the result: torch.zeros(shape of the result).scatter_reduce_(dim, index, values, "
            "\"amax\"), or \"sum\"; scatter_add_ for sums";
        return;
      case Form::distance:
        words.title = "differences of all pairs are materialised";
        words.notes.emplace_back("The prediction is for torch.cdist, which makes only the distances.");
        words.fix.text =
            "torch.cdist(x, y), or |x|^2 + |y|^2 - 2 x @ y.T for squared distances; sums are added in another order";
        return;
      case Form::gather:
        words.title = "log-softmax of all classes, of which one entry a row is read";
        words.message = "The log-softmax takes " + bytes_text(biggest.bytes) + ", as much as the logits. " +
                        "Operators read only a few entries of each row, and no graph keeps it.";
        words.notes.push_back("The prediction is for logsumexp over " + std::to_string(biggest.number) +
                              " chunks of rows, one at a time, with a temporary of a chunk's size.");
        words.fix.text =
            "logits.gather(-1, ids.unsqueeze(-1)).squeeze(-1) - torch.stack([row.logsumexp(-1) for row in logits]); "
            "for a loss, call it on chunks of rows; the last bits may differ";
        return;
      case Form::embedding:
        words.title = "one-hot tensor in a product";
        words.message = "one_hot and its cast take " + bytes_text(bytes) +
                        ". The product only selects rows of its other side, and an embedding selects them by index.";
        words.fix.text =
            "torch.nn.functional.embedding(ids, weight) instead of one_hot(ids, n).float() @ weight (weight.t() for a "
            "linear layer)";
        words.fix.is_small = true;
        return;
      case Form::picked:
        words.title = "one-hot tensor that selects one entry of each row";
        words.message = "one_hot and its cast take " + bytes_text(bytes) +
                        ". The product with them keeps one entry of each row, and gather reads it by index.";
        words.fix.text =
            "values.gather(-1, ids.unsqueeze(-1)).squeeze(-1) instead of (one_hot(ids, n) * values).sum(-1); for a "
            "loss torch.nn.functional.cross_entropy(logits, ids), with label_smoothing= if the targets are smoothed";
        words.is_proved = false;  // the product itself may be needed
        return;
      case Form::chunks:
        words.title = "large intermediates are soon reduced";
        words.notes.push_back(
            "The prediction is for " + chunks +
            " chunks. The recording does not show whether the operators between can be cut along one dimension.");
        words.is_proved = false;
        words.fix.text =
            "compute " + chunks + " chunks: for part in x.split(n): reduce each part, and torch.cat the results";
        return;
    }
  }

  // The divisor of a member's bytes after the fix. 0: the other form does not make the member.
  int64_t parts(Form form) const { return form == Form::scatter || form == Form::distance ? 0 : chunks_; }

  // Replaces the allocation by 1/parts of it. 0: removes it.
  static Interval shrink(const Context& context, AllocationId allocation, int64_t parts, peak::WhatIf& change) {
    const Process& p = context.process;
    const Interval life{p.allocations.time[allocation], p.freed(allocation)};
    const int64_t bytes = p.allocations.bytes[allocation].value;
    change.never_make(p, allocation);
    if (parts > 0) change.extras.push_back({allocation, life, Bytes{(bytes + parts - 1) / parts}});
    return life;
  }

  void emit(const Context& context, const Region& region, Sink& sink) const {
    const Process& p = context.process;
    // All members of a region are one finding.
    const Place place = place_of(context, region.largest);
    const Time begin = p.allocations.time[region.members.front()];
    const int64_t parts = this->parts(region.form);
    for (const AllocationId member : region.members) {
      const Bytes bytes = p.allocations.bytes[member];
      peak::WhatIf change;
      const Interval life = shrink(context, member, parts, change);
      if (member == region.members.front()) {
        for (const AllocationId temporary : region.temporaries) shrink(context, temporary, parts, change);
      }
      if (member == region.members.front()) add_results(context, region, begin, change);
      sink.add({.place = place,
                .allocation = member,
                .bytes = bytes,
                .when = life,
                .number = static_cast<uint64_t>(region.kept.value)},
               change, static_cast<uint32_t>(region.form));
    }
  }

  // Whether an operator reads the allocation after its maker has returned.
  static bool is_read(const Context& context, AllocationId allocation) {
    const Process& p = context.process;
    const Time made = p.operators.end[context.provenance.maker(allocation)];
    return std::ranges::any_of(context.provenance.uses(allocation),
                               [&](OperatorId use) { return p.operators.begin[use] >= made; });
  }

  // Results exist from the first chunk on. Form::scatter makes the result in place of the table of zeros.
  void add_results(const Context& context, const Region& region, Time begin, peak::WhatIf& change) const {
    const Process& p = context.process;
    if (region.form == Form::distance) {  // torch.cdist appends the norms to copies of the points
      change.extras.push_back({{}, {begin, p.freed(region.members.back())}, region.made_of});
      // Its backward makes two tensors of the distances' size.
      if (region.is_in_graph)
        change.extras.push_back({{}, {begin, p.freed(region.members.back())}, Bytes{2 * region.kept.value}});
      return;
    }
    Time last;
    for (const AllocationId result : region.results) last = std::max(last, p.freed(result));
    for (const AllocationId result : region.results) {
      const Time birth = p.allocations.time[result];
      if (region.form == Form::scatter && !is_read(context, result) && p.freed(result) < last) {
        change.never_make(p, result);  // indices of a maximum that nothing reads
        continue;
      }
      const int64_t bytes = p.allocations.bytes[result].value;
      const int64_t early = region.form == Form::scatter ? bytes : bytes - bytes / chunks_;
      if (p.freed(result) > p.freed(region.members.back())) change.extras.push_back({{}, {begin, birth}, Bytes{early}});
    }
  }

  int64_t chunks_ = 16;
};

}  // namespace
}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::ReducedIntermediate)
