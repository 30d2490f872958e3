#include "analyzer/advise/allocator_advice.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "analyzer/advise/advice.h"
#include "analyzer/advise/together.h"

namespace tapelens::advise {
namespace {

using allocator::kNoLimit;

// The settings to try, the most often useful first.
constexpr std::string_view kSettings[] = {"expandable_segments:True",    "max_split_size_mb:128",
                                          "max_split_size_mb:512",       "roundup_power2_divisions:8",
                                          "roundup_power2_divisions:16", "garbage_collection_threshold:0.8"};
// If a recording has more findings, the search uses those that lower the peak most.
constexpr size_t kMostFindings = 24;

Bytes bytes_of(uint64_t bytes) { return Bytes{static_cast<int64_t>(bytes)}; }

// The capacity for segments: the bytes at an out of memory error, or else the device's memory.
uint64_t card_of(const peak::Analysis& analysis, DeviceId device) {
  const OutOfMemory& all = analysis.process().out_of_memory;
  uint64_t card = kNoLimit;
  for (const OutOfMemoryId row : all.ids()) {
    if (all.device[row] != device || all.free[row] == UINT64_MAX) continue;
    card = std::min(card, static_cast<uint64_t>(all.reserved[row].value) + all.free[row]);
  }
  if (card != kNoLimit) return card;
  return analysis.bytes_noted(device, &model::DeviceType::memory);
}

// None: no request of the recording failed.
std::optional<Time> first_failure(const peak::DeviceRequests& requests) {
  const auto first = std::ranges::find(requests.all, peak::Request::Kind::out_of_memory, &peak::Request::kind);
  if (first == requests.all.end()) return std::nullopt;
  return first->time;
}

uint64_t steps_before(const std::vector<Step>& steps, Time time) {
  return static_cast<uint64_t>(std::ranges::count_if(steps, [&](const Step& step) { return step.when.end <= time; }));
}

// A set of changes. Changes that drop the same saves share them in the order of their places.
class OrderedChanges {
 public:
  OrderedChanges(const Process& process, const peak::Replay& replay, std::span<const TimelineChange> changes)
      : place_(changes.size()), together_(process, replay, in_order(changes)) {}

  // The changes at these indices of `changes`.
  Together::Set of(std::span<const size_t> chosen) const {
    std::vector<bool> has(place_.size());
    for (const size_t one : chosen) has[place_[one]] = true;
    return together_.of(has);
  }
  Together::Set all() const { return together_.all(); }

 private:
  std::vector<const peak::WhatIf*> in_order(std::span<const TimelineChange> changes) {
    std::vector<size_t> order(changes.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, {}, [&](size_t at) { return changes[at].place; });
    std::vector<const peak::WhatIf*> whats;
    for (size_t i = 0; i < order.size(); ++i) {
      place_[order[i]] = i;
      whats.push_back(&changes[order[i]].what);
    }
    return whats;
  }

  std::vector<size_t> place_;  // in the order of sharing, by change
  Together together_;
};

class ChangeReplay {
 public:
  ChangeReplay(const peak::DeviceAnalysis& device, const Advice& advice, std::span<const TimelineChange> changes)
      : p_(device.of().process()),
        requests_(device.of().requests(device.device())),
        replay_(device.replay()),
        longest_(device.of().longest_lifetimes(), device.timeline(), device.of().since()),
        reserved_(p_, requests_),
        advice_(advice),
        ordered_(p_, replay_, changes) {}

  // With these findings fixed: indices into Advice::findings.
  peak::ReservedOutcome run(std::span<const size_t> findings, const std::string& settings, uint64_t card) const {
    if (findings.empty()) return reserved_.run(under(settings, card));
    return replay(ordered_.of(findings), settings, card);
  }

  // With rewrites: the higher peak of the two bounds on variables' lifetimes.
  peak::ReservedOutcome with(const RewrittenRun& rewritten, const std::string& settings, uint64_t card) const {
    peak::ReservedOutcome least = replay(OrderedChanges(p_, replay_, rewritten.changes).all(), settings, card);
    if (least.failed) return least;
    peak::ReservedOutcome most = replay(OrderedChanges(p_, longest_, rewritten.longest).all(), settings, card);
    return most.failed || most.peak > least.peak ? most : least;
  }

  // The findings that Advice::peak_after_all excludes from the peak.
  std::vector<size_t> all() const {
    std::vector<size_t> fixed;
    for (size_t i = 0; i < advice_.findings.size(); ++i) {
      if (advice_.findings[i].is_in_all && !advice_.findings[i].is_alternative) fixed.push_back(i);
    }
    return fixed;
  }
  // The alternatives, sorted by their reduction of the peak, the largest first.
  std::vector<size_t> alternatives() const {
    std::vector<size_t> found;
    for (size_t i = 0; i < advice_.findings.size(); ++i) {
      if (advice_.findings[i].is_alternative) found.push_back(i);
    }
    return found;
  }

 private:
  peak::ReservedSettings under(const std::string& settings, uint64_t card) const {
    // On a smaller card the card's memory limits the process.
    const uint64_t allowed = requests_.allowed == kNoLimit ? kNoLimit : std::min(requests_.allowed, card);
    allocator::AllocatorSettings parsed = allocator::parse_settings(settings).settings;
    parsed.order = requests_.settings.order;
    return {parsed, card, allowed};
  }
  peak::ReservedOutcome replay(const Together::Set& set, const std::string& settings, uint64_t card) const {
    const std::vector<const peak::WhatIf*> changes = set.changes();
    const peak::Replayed replayed{set.outcome, changes};
    return reserved_.run(under(settings, card), &replayed);
  }

  const Process& p_;
  const peak::DeviceRequests& requests_;
  const peak::Replay replay_, longest_;
  const peak::ReservedReplay reserved_;
  const Advice& advice_;
  const OrderedChanges ordered_;
};

// One finding that is enough, or several that are all necessary. Findings that lower the peak most are tried first.
// `base`: an alternative that is fixed as well.
std::optional<Way> few(const ChangeReplay& replays, std::optional<size_t> base, const std::string& settings,
                       uint64_t card) {
  std::vector<size_t> all = replays.all();
  if (all.size() > kMostFindings) all.resize(kMostFindings);
  const auto way = [&](std::vector<size_t> findings) -> std::optional<Way> {
    if (base) findings.push_back(*base);
    const peak::ReservedOutcome outcome = replays.run(findings, settings, card);
    if (outcome.failed) return std::nullopt;
    return Way{std::move(findings), settings, outcome.peak, ""};
  };
  std::optional<Way> found = way(all);
  if (!found || all.empty()) return found;
  for (const size_t one : all) {
    if (auto alone = way({one})) return alone;
  }
  // Leaves out the least effective findings first, while the rest is enough. Two are both necessary, because neither
  // was enough alone.
  for (size_t place = all.size(); place-- > 0 && all.size() > 2;) {
    std::vector<size_t> others = all;
    others.erase(others.begin() + static_cast<int64_t>(place));
    if (auto without = way(others)) {
      found = std::move(without);
      all = std::move(others);
      place = all.size();
    }
  }
  return found;
}

// Each level and each single rewrite that is enough; if none is, the same with the most effective setting.
void add_rewrites(const ChangeReplay& replays, const std::vector<RewrittenRun>& runs, const AllocatorAdvice& advice,
                  uint64_t card, std::vector<Way>& ways) {
  const bool has_setting = !ways.empty();
  const auto add = [&](const std::string& settings, bool is_setting) {
    bool has_any = false;
    for (const RewrittenRun& run : runs) {
      const peak::ReservedOutcome outcome = replays.with(run, settings, card);
      if (outcome.failed) continue;
      has_any = true;
      ways.push_back({{}, is_setting ? settings : "", outcome.peak, run.options});
    }
    return has_any;
  };
  if (add(advice.settings, false)) return;
  // A setting that is enough alone needs no rewrites.
  if (!has_setting && !advice.tried.empty()) add(advice.tried.front().settings, true);
}

// Among the alternatives that are enough alone, the least effective one and the one with the lowest peak. If none is
// enough, the most effective one with the fewest other findings.
void add_alternatives(const ChangeReplay& replays, const AllocatorAdvice& advice, uint64_t card,
                      std::vector<Way>& ways) {
  const std::vector<size_t> all = replays.alternatives();
  std::vector<Way> enough;
  for (const size_t one : all) {
    const peak::ReservedOutcome outcome = replays.run(std::array<size_t, 1>{one}, advice.settings, card);
    if (!outcome.failed) enough.push_back({{one}, "", outcome.peak, ""});
  }
  std::ranges::stable_sort(enough, {}, &Way::reserved_peak);
  if (enough.size() > 1) ways.push_back(enough.back());
  if (!enough.empty()) ways.push_back(enough.front());
  if (!enough.empty() || all.empty() || replays.all().empty()) return;
  if (auto way = few(replays, all.front(), advice.settings, card)) {
    way->settings.clear();
    ways.push_back(std::move(*way));
  }
}

Fits find_fits(const ChangeReplay& replays, const AllocatorAdvice& advice, uint64_t card,
               const RewrittenRuns& rewritten, const std::function<void(std::string_view, double)>& progress) {
  Fits fits;
  fits.card = bytes_of(card);
  const peak::ReservedOutcome as_is = replays.run({}, advice.settings, card);
  if (!as_is.failed) return fits;
  fits.failed = {as_is.failed->request.time, as_is.failed->bytes, as_is.failed->reserved};
  const auto tell = [&](double share) {
    if (progress) progress("what would fit", share);
  };
  for (const std::string_view one : kSettings) {
    const std::string settings = with_setting(advice.settings, one);
    const peak::ReservedOutcome outcome = replays.run({}, settings, card);
    if (!outcome.failed) fits.ways.push_back({{}, settings, outcome.peak, ""});
  }
  std::ranges::stable_sort(fits.ways, {}, &Way::reserved_peak);
  const bool has_setting = !fits.ways.empty();
  tell(0.2);
  if (rewritten) add_rewrites(replays, rewritten(), advice, card, fits.ways);
  tell(0.5);
  std::optional<Way> alone = few(replays, std::nullopt, advice.settings, card);
  if (alone) alone->settings.clear();
  tell(0.7);
  // If no setting alone is enough, a setting may reduce the number of necessary findings.
  const bool is_worth_it = !has_setting && !advice.tried.empty() && (!alone || alone->findings.size() > 1);
  std::optional<Way> both;
  if (is_worth_it) both = few(replays, std::nullopt, advice.tried.front().settings, card);
  const bool is_less = both && (!alone || both->findings.size() + 1 < alone->findings.size());
  if (alone) fits.ways.push_back(std::move(*alone));
  if (is_less) fits.ways.push_back(std::move(*both));
  tell(0.9);
  add_alternatives(replays, advice, card, fits.ways);
  std::ranges::stable_sort(fits.ways, {}, &Way::changes);
  return fits;
}

}  // namespace

const SettingTried* AllocatorAdvice::better() const {
  const auto least = std::ranges::find_if(tried, &SettingTried::is_served);
  if (least == tried.end() || least->reserved_peak.value > reserved_before.value - reserved_before.value / 100) {
    return nullptr;
  }
  return &*least;
}

std::optional<Bytes> reserved_with(const peak::DeviceAnalysis& device, const RewrittenRun& rewritten) {
  const peak::Analysis& analysis = device.of();
  if (!analysis.traits(device.device()).has_segments) return std::nullopt;
  if (!analysis.requests(device.device()).differs.empty()) return std::nullopt;
  const Advice nothing;
  const ChangeReplay replays(device, nothing, {});
  const peak::ReservedOutcome outcome =
      replays.with(rewritten, std::string(analysis.information("cuda_allocator_settings")), kNoLimit);
  if (outcome.failed) return std::nullopt;
  return outcome.peak;
}

std::string with_setting(std::string_view settings, std::string_view key_and_value) {
  const std::string_view key = key_and_value.substr(0, key_and_value.find(':'));
  std::string all;
  // Commas within brackets are part of a value.
  for (size_t begin = 0; begin < settings.size();) {
    size_t end = begin;
    for (int depth = 0; end < settings.size() && (depth > 0 || settings[end] != ','); ++end) {
      depth += settings[end] == '[' ? 1 : settings[end] == ']' ? -1 : 0;
    }
    std::string_view one = settings.substr(begin, end - begin);
    while (one.starts_with(' ')) one.remove_prefix(1);
    begin = end + 1;
    if (one.substr(0, one.find(':')) == key || one.empty()) continue;
    all += (all.empty() ? "" : ",") + std::string(one);
  }
  return all + (all.empty() ? "" : ",") + std::string(key_and_value);
}

std::optional<AllocatorAdvice> allocator_advice(const peak::DeviceAnalysis& device, const Advice& advice,
                                                std::span<const TimelineChange> changes, const AllocatorWanted& wanted,
                                                const RewrittenRuns& rewritten,
                                                const std::function<void(std::string_view, double)>& progress) {
  const peak::Analysis& analysis = device.of();
  if (!analysis.traits(device.device()).has_segments) return std::nullopt;
  if (progress) progress("allocator", 0);
  const peak::DeviceRequests& requests = analysis.requests(device.device());
  AllocatorAdvice out;
  out.settings = analysis.information("cuda_allocator_settings");
  out.differs = requests.differs;
  out.compared = requests.compared;
  out.reserved_before = analysis.memory(device.device()).reserved_peak;
  const uint64_t card = card_of(analysis, device.device());
  if (card != kNoLimit) out.card = bytes_of(card);
  if (!out.is_known()) return out;
  const ChangeReplay replays(device, advice, changes);
  out.reserved_after_all = replays.run(replays.all(), out.settings, card).peak;
  for (const std::string_view one : kSettings) {
    if (progress) progress("allocator", static_cast<double>(out.tried.size() + 1) / (std::size(kSettings) + 1));
    // The threshold of garbage collection is a fraction of the process's limit.
    const bool collects = one.starts_with("garbage");
    if (collects && requests.allowed == kNoLimit) continue;
    const std::string settings = with_setting(out.settings, one);
    const peak::ReservedOutcome outcome = replays.run({}, settings, card);
    out.tried.push_back({settings, outcome.peak, !outcome.failed});
  }
  std::ranges::stable_sort(out.tried, {}, &SettingTried::reserved_peak);
  const std::optional<Time> ended = first_failure(requests);
  if (wanted.fits || ended) {
    const uint64_t bytes = wanted.fits ? static_cast<uint64_t>(wanted.fits->value) : card;
    out.fits = find_fits(replays, out, bytes, rewritten, progress);
    out.fits->ends_out_of_memory = ended.has_value();
    if (ended) out.fits->steps_before = steps_before(analysis.steps(), *ended);
  }
  return out;
}

}  // namespace tapelens::advise
