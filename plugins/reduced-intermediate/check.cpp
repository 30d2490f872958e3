// Intermediates that are made from far less than they take, and reduced to far less.
#include "analyzer/check/check.h"

#include <algorithm>
#include <array>
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
    Option{"ratio", "8", "how many times they must outweigh what they are made of, and what is kept of them"},
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
    const Bytes largest = largest_at_peak(context);
    // Smaller than the smallest part of `least` that is worth a chunk.
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
                    ", is made from far less, and " + kept + " is kept of it.";
    say_form(context, biggest, form, words);
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
      for (const AllocationId temporary : one.temporaries) shrink(context, temporary, 0, change);  // logsumexp has none
      sink.add({.place = place,
                .allocation = one.result,
                .bytes = bytes,
                .when = life,
                .number = static_cast<uint64_t>(parts)},
               change, static_cast<uint32_t>(Form::gather));
    }
  }

  void say_form(const Context& context, const Occurrence& biggest, Form form, Description& words) const {
    const std::string chunks = std::to_string(chunks_);
    switch (form) {
      case Form::transform: {
        const reduced::Transform transform = reduced::transform_of(context.text, biggest.place.stack);
        const bool has_chunks = transform.name == "jacrev" || transform.name == "vmap";
        words.title = "torch.func." + std::string(transform.name) + " computes all rows at once";
        words.notes.push_back("The prediction is for 1/" + chunks + " of the rows at a time.");
        words.fix.text = has_chunks
                             ? std::string(transform.name) + "(..., chunk_size=N), with N 1/" + chunks +
                                   " of the rows (of the outputs' elements for a Jacobian)"
                             : "torch.func.jacrev(..., chunk_size=N), with N 1/" + chunks +
                                   " of the outputs' elements: " + std::string(transform.name) + " has no chunk_size";
        words.edit = {transform.caller, 0};
        return;
      }
      case Form::scatter:
        words.title = "a table of zeros is filled and then reduced";
        words.notes.emplace_back("The prediction is for a table of the result's shape alone.");
        words.fix.text =
            "reduce right into the result: torch.zeros(shape of the result).scatter_reduce_(dim, index, values, "
            "\"amax\"), or \"sum\"; scatter_add_ for sums";
        return;
      case Form::distance:
        words.title = "differences of all pairs are materialised";
        words.notes.emplace_back("The prediction is for torch.cdist, which makes the distances alone.");
        words.fix.text =
            "torch.cdist(x, y), or |x|^2 + |y|^2 - 2 x @ y.T for squared distances; sums are added in another order";
        return;
      case Form::gather:
        words.title = "log-softmax of all classes, of which one entry a row is read";
        words.message = "The log-softmax takes " + bytes_text(biggest.bytes) + ", as much as the logits. " +
                        "Nothing reads more than few entries of a row of it, and no graph keeps it.";
        words.notes.push_back("The prediction is for logsumexp over 1/" + std::to_string(biggest.number) +
                              " of the rows at a time, which has a temporary of that size.");
        words.fix.text =
            "logits.gather(-1, ids.unsqueeze(-1)).squeeze(-1) - torch.stack([row.logsumexp(-1) for row in logits]); "
            "for a loss, call it on chunks of rows; the last bits may differ";
        return;
      case Form::chunks:
        words.title = "large intermediates are soon reduced";
        words.notes.push_back("The prediction is for " + chunks +
                              " chunks. That the operators between can be cut at one dimension is not recorded.");
        words.is_proved = false;
        words.fix.text =
            "compute " + chunks + " chunks: for part in x.split(n): reduce each part, and torch.cat the results";
        return;
    }
  }

  // What is there instead of a member: none of it in a form that never makes it.
  int64_t parts(Form form) const { return form == Form::scatter || form == Form::distance ? 0 : chunks_; }

  // A part of it is there instead; none: nothing.
  static Interval shrink(const Context& context, AllocationId allocation, int64_t parts, peak::WhatIf& change) {
    const Process& p = context.process;
    const Interval life{p.allocations.time[allocation], p.freed(allocation)};
    const int64_t bytes = p.allocations.bytes[allocation].value;
    change.ends.push_back({allocation, Time{life.begin.ns - 1}});
    if (parts > 0) change.extras.push_back({allocation, life, Bytes{(bytes + parts - 1) / parts}});
    return life;
  }

  void emit(const Context& context, const Region& region, Sink& sink) const {
    const Process& p = context.process;
    // All of a region is one finding.
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

  // By an operator after the one that made it.
  static bool is_read(const Context& context, AllocationId allocation) {
    const Process& p = context.process;
    const Time made = p.operators.end[context.provenance.maker(allocation)];
    return std::ranges::any_of(context.provenance.uses(allocation),
                               [&](OperatorId use) { return p.operators.begin[use] >= made; });
  }

  // Results are there from the first chunk on; a table of zeros is the result.
  void add_results(const Context& context, const Region& region, Time begin, peak::WhatIf& change) const {
    const Process& p = context.process;
    if (region.form == Form::distance) {  // torch.cdist puts their norms beside the points
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
        change.ends.push_back({result, Time{birth.ns - 1}});  // indices of a maximum that nothing reads
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
