// Finds gradients whose values the buckets of DistributedDataParallel hold as well.
#include "analyzer/check/check.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "analyzer/check/frameworks.h"
#include "analyzer/peak/communication.h"

namespace tapelens::check {
namespace {

constexpr std::array kOptions = {
    Option{"min-share", "5", "percent of the peak that the gradients must be"},
};

class DdpBucketCopy final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "ddp-bucket-copy",
            .title = "gradients that DDP's buckets have as well",
            .help =
                "DistributedDataParallel copies each gradient into a bucket, averages the bucket over the ranks and "
                "copies it back: gradients and buckets are two models' worth of memory. With "
                "gradient_as_bucket_view=True the gradients are views of the buckets.",
            .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const Process& p = context.process;
    const Bytes share = options.share("min-share", context.peak.bytes);
    const std::vector<AllocationId> buckets = all_buckets(context);
    if (buckets.empty()) return;
    const std::vector<AllocationId> gradients = gradients_beside(context, buckets);
    Bytes at_peak;
    for (const AllocationId gradient : gradients) {
      if (context.peak.when.holds(p, gradient)) at_peak += p.allocations.bytes[gradient];
    }
    if (at_peak < std::max(share, Bytes{1})) return;
    for (size_t at = 0; at < gradients.size(); ++at) {
      const AllocationId gradient = gradients[at];
      const Interval life{p.allocations.time[gradient], p.freed(gradient)};
      // The backward still makes the gradient. DDP moves it into its bucket before the backward makes the next one.
      const Time next = at + 1 < gradients.size() ? p.allocations.time[gradients[at + 1]] : life.end;
      peak::WhatIf change;
      change.ends.push_back({gradient, Time{std::min(next, life.end).ns - 1}});
      if (gradient == gradients.front()) keep_buckets(p, buckets, gradients, change);
      // All gradients of a model are one finding, at the line that wraps the model.
      Place place{};
      place.stack = stack_of(p, context.text, buckets.front());
      sink.add({.place = place, .allocation = gradient, .bytes = p.allocations.bytes[gradient], .when = life}, change);
    }
  }

  Description describe(const Context& context, const Group& group) const override {
    Description words;
    words.severity = Severity::info;
    words.title = "DDP's gradients are in its buckets as well";
    words.message = bytes_text(group.bytes) +
                    " of gradients are copied into the buckets of DistributedDataParallel and back. As views of the "
                    "buckets, they take no memory.";
    words.notes.emplace_back(
        "DDP replaces its buckets in the second iteration: with views, the first buckets are alive until then.");
    const std::string phrase = in_framework(context.in_use, Remedy::bucket_views);
    words.fix.text = phrase.empty() ? "DistributedDataParallel(..., gradient_as_bucket_view=True)" : phrase;
    words.fix.is_small = true;
    return words;
  }

 private:
  static std::vector<AllocationId> all_buckets(const Context& context) {
    peak::Communication communication(context.process, context.text);
    std::vector<AllocationId> buckets;
    for (const AllocationId allocation : context.allocations(Bytes{1})) {
      if (communication.of(allocation) == peak::Traffic::ddp_bucket) buckets.push_back(allocation);
    }
    return buckets;
  }

  // The backward frees a gradient that DDP moves into a bucket.
  static bool outlives_backward(const Process& p, AllocationId gradient) {
    const auto behind = std::ranges::upper_bound(p.backwards, p.allocations.time[gradient], {}, &Backward::begin);
    return behind == p.backwards.begin() || p.freed(gradient) > std::prev(behind)->end;
  }

  // Gradients that are not buckets, made after the first bucket.
  static std::vector<AllocationId> gradients_beside(const Context& context, const std::vector<AllocationId>& buckets) {
    const Process& p = context.process;
    const std::set<AllocationId> is_bucket(buckets.begin(), buckets.end());
    const Time since = p.allocations.time[buckets.front()];
    std::vector<AllocationId> gradients;
    for (const RoleId role : p.roles.allocation.ids()) {
      const AllocationId gradient = p.roles.allocation[role];
      if (p.roles.kind[role] != Role::gradient || p.allocations.device[gradient] != context.device) continue;
      const bool is_beside = p.allocations.time[gradient] > since && !is_bucket.contains(gradient);
      if (is_beside && outlives_backward(p, gradient)) gradients.push_back(gradient);
    }
    std::ranges::sort(gradients);
    const auto twice = std::ranges::unique(gradients);
    gradients.erase(twice.begin(), twice.end());
    return gradients;
  }

  // DDP replaces its first buckets by others. Gradients that are views keep the first buckets alive until the others
  // exist.
  static void keep_buckets(const Process& p, const std::vector<AllocationId>& buckets,
                           const std::vector<AllocationId>& gradients, peak::WhatIf& change) {
    const Time last{p.allocations.time[buckets.back()].ns + 1};
    std::vector<Time> frees;  // latest free of the gradients so far
    for (const AllocationId gradient : gradients) {
      frees.push_back(std::max(frees.empty() ? Time{} : frees.back(), p.freed(gradient)));
    }
    for (const AllocationId bucket : buckets) {
      const Time freed = p.freed(bucket);
      const auto made =
          std::ranges::upper_bound(gradients, freed, {}, [&](AllocationId g) { return p.allocations.time[g]; });
      const bool is_viewed =
          made != gradients.begin() && frees[static_cast<size_t>(made - gradients.begin()) - 1] > freed;
      if (is_viewed && freed < last) change.extras.push_back({{}, {freed, last}, p.allocations.bytes[bucket]});
    }
  }
};

}  // namespace
}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::DdpBucketCopy)
