// Runs the checks over one process, groups their occurrences, scores the groups by the replay, and sorts them.
#include "analyzer/advise/advice.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "analyzer/advise/fingerprint.h"
#include "analyzer/advise/groups.h"
#include "analyzer/advise/together.h"
#include "analyzer/peak/replay.h"
#include "base/parallel.h"

namespace tapelens::advise {

using namespace check;

namespace {

Options options_of(const CheckInfo& info, const AdviceOptions& wanted) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const Option& option : info.options) {
    std::string value(option.default_value);
    // A rewrite has the minimum bytes of its run. The check's own minimum is for changes by hand.
    if (wanted.applying && option.name == "min-bytes") value = std::to_string(wanted.applying->min_bytes);
    for (const auto& [name, given] : wanted.options) {
      if (name == std::string(info.id) + "." + std::string(option.name)) value = given;
    }
    values.emplace_back(option.name, std::move(value));
  }
  return Options(std::move(values));
}

bool is_wanted(const AdviceOptions& wanted, std::string_view id) {
  return wanted.checks.empty() || std::ranges::find(wanted.checks, id) != wanted.checks.end();
}

// The text of the exception, on one line; none: no exception.
template <class Run>
std::optional<std::string> refusal(const Checks::Entry& entry, Run run) {
  std::string why;
  try {
    run();
    return std::nullopt;
  } catch (const std::exception& error) {
    why = error.what();
  } catch (...) {
    why = "it failed";
  }
  std::ranges::replace(why, '\n', ' ');
  return std::string(entry.check->info().id) + " (" + entry.origin + "): " + why;
}

struct Scored {
  const Checks::Entry* entry;
  const check::Check* check;
  CheckInfo info;
  FoundGroup group;
  Bytes peak_after, retained_at_peak_with_all;
  uint32_t place = 0;  // index in the order of precedence
  bool frees = false;  // frees memory alone, at some moment
  bool is_in = false;  // in the set of findings with the lowest peak

  Bytes retained_at_peak(Bytes before) const { return std::max(before - peak_after, retained_at_peak_with_all); }
};

class Advisor {
 public:
  // `lifetimes`: one of the two lifetimes of the process (peak::Analysis).
  Advisor(const peak::DeviceAnalysis& device, const peak::Lifetimes& lifetimes, const AdviceOptions& wanted,
          const Progress& progress)
      : lifetimes_(lifetimes),
        timeline_(device.timeline()),
        peak_(device.peak()),
        since_(device.of().since()),
        replay_(lifetimes_, timeline_, since_),
        progress_(progress),
        context_{device.of().process(),
                 device.of().text(),
                 device.of().steps(),
                 device.of().phases(),
                 device.of().provenance(),
                 lifetimes_,
                 device.device(),
                 timeline_,
                 peak_,
                 device.of().information("torch_version"),
                 nullptr,
                 wanted.sources.empty() ? nullptr : &advice_.sources,
                 device.of().memory_of(device.device()),
                 device.of().in_use()},
        places_(context_),
        wanted_(wanted) {}

  RewrittenEffect effect(Checks& checks) {
    context_.applied = &chosen_.emplace(context_, *wanted_.applying, checks);
    find(checks);
    std::ranges::stable_sort(scored_, {}, [](const Scored& scored) { return scored.info.precedence; });
    RewrittenEffect effect;
    std::vector<const peak::WhatIf*> changes;
    const Settled settled = this->settled();
    for (Scored& scored : scored_) {
      changes.push_back(&scored.group.change);
      add_to(effect, scored, settled.since);
    }
    // From sums over the settled steps to means. Each share is one of all steps.
    effect.repeated.ns /= settled.steps;
    effect.repeated_share *= static_cast<double>(settled.all) / static_cast<double>(settled.steps);
    effect.peak = Together(context_.process, replay_, std::move(changes)).all().outcome.peak;
    for (Scored& scored : scored_) {
      const auto place = static_cast<uint32_t>(effect.run.changes.size());
      effect.run.changes.push_back({std::move(scored.group.change), place});
    }
    return effect;
  }

  Advice run(Checks& checks, std::vector<TimelineChange>* changes) {
    advice_.peak_before = peak_.bytes;
    advice_.in_use = context_.in_use;
    if (!wanted_.sources.empty()) advice_.sources = source_tree_of(context_.text, wanted_.sources);
    if (wanted_.applying) context_.applied = &chosen_.emplace(context_, *wanted_.applying, checks);
    find(checks);
    score();
    for (Scored& scored : scored_) words(scored);
    advice_.entries = entries_of(context_.process, replay_, chosen_.has_value(), advice_.findings, changes_);
    note_changed_sources();
    if (changes != nullptr) *changes = std::move(changes_);
    return std::move(advice_);
  }

 private:
  // The later half of the complete steps. The recompute budget is not decided in the first step, nor in the second one
  // if chains of operators became longer by the first decision.
  struct Settled {
    Time since;
    int64_t steps, all;  // how many, and of how many complete ones; at least 1
  };
  Settled settled() const {
    const std::vector<Step>& steps = context_.steps;
    const int64_t all = std::ranges::count_if(steps, [](const Step& step) { return step.when.end != kNever; });
    if (all < 2) return {Time{0}, 1, 1};
    const int64_t first = (all + 1) / 2;
    return {steps[static_cast<size_t>(first)].when.begin, all - first, all};
  }

  void add_to(RewrittenEffect& effect, const Scored& scored, Time since) {
    std::vector<Occurrence> occurrences;
    std::ranges::copy_if(scored.group.occurrences, std::back_inserter(occurrences),
                         [&](const Occurrence& occurrence) { return occurrence.when.begin >= since; });
    if (occurrences.empty()) return;
    std::set<ModuleId> modules;
    for (const Occurrence& occurrence : occurrences) {
      modules.insert(occurrence.place.module);
      effect.repeated.ns += occurrence.repeated.ns;
      effect.repeated_share += occurrence.repeated_share;
    }
    const Text& text = context_.text;
    const Place& place = occurrences.front().place;
    std::string field(place.node ? text.string(context_.process.nodes.type[place.node]) : "");
    if (place.field) field += "." + std::string(text.string(place.field));
    const bool is_one = modules.size() == 1 && place.module;
    std::string module(is_one ? text.string(text.module_path[place.module]) : places_.pattern(scored.group.key));
    effect.places.push_back(
        {std::string(scored.info.id), std::move(field), std::move(module), modules.size(), most_at_once(occurrences)});
  }

  void note_changed_sources() {
    if (context_.sources == nullptr) return;
    std::set<std::string> files;
    for (const Finding& finding : advice_.findings) files.insert(finding.source.file);
    std::ranges::copy_if(files, std::back_inserter(advice_.changed),
                         [&](const std::string& file) { return has_changed(context_.text, file, *context_.sources); });
  }

  void tell(std::string_view what, double share) const {
    if (progress_) progress_(what, share);
  }

  // If tables are left out, a check would report false findings, because it would miss uses, releases and holders.
  std::string missing() const {
    std::string names;
    for (const auto* left_out : {&context_.text.left_out, &context_.process.left_out}) {
      for (const model::LeftOut& table : *left_out) {
        // Without the views a check only finds less.
        if (table.table != trace::Table::input_views) names += (names.empty() ? "" : ", ") + table.name;
      }
    }
    return names;
  }

  void find(Checks& checks) {
    if (const std::string names = missing(); !names.empty()) {
      advice_.refused.push_back("all of them: tables of the file are left out (" + names + "): record again");
      return;
    }
    std::vector<Look> looks;
    for (const Checks::Entry& entry : checks.entries()) {
      const CheckInfo info = entry.check->info();
      if (!is_wanted(wanted_, info.id) || (chosen_ && !chosen_->wants(info.id))) continue;
      if (context_.process.is_imported && !info.reads_imported) {
        advice_.not_looked.emplace_back(info.id);
        continue;
      }
      looks.push_back({&entry, info, {}, {}, {}});
    }
    look(looks);
    for (Look& one : looks) {
      if (one.why) {
        advice_.refused.push_back(std::move(*one.why));
        continue;
      }
      advice_.checks.emplace_back(one.info.id);
      for (FoundGroup& group : one.found) {
        if (group.bytes >= wanted_.min_bytes || chosen_)
          scored_.push_back({one.entry, one.check.get(), one.info, std::move(group), {}, {}, 0, false, false});
      }
      checks_.push_back(std::move(one.check));
    }
  }

  // A check with its findings.
  struct Look {
    const Checks::Entry* entry;
    CheckInfo info;
    std::unique_ptr<Check> check;
    std::vector<FoundGroup> found;
    std::optional<std::string> why;  // it threw an exception
  };

  // Tapelens' own checks run at the same time, as they share nothing that they change. Those of others run one by one.
  void look(std::vector<Look>& looks) {
    std::vector<Look*> own, others;
    for (Look& one : looks) (one.entry->is_built_in() ? own : others).push_back(&one);
    std::atomic<size_t> begun{0};
    const auto caller = std::this_thread::get_id();
    const auto run = [&](Look& one) {
      const size_t before = begun++;
      if (std::this_thread::get_id() == caller)
        tell(one.info.id, 0.5 * static_cast<double>(before) / static_cast<double>(looks.size()));
      Groups groups = chosen_ ? Groups(context_, places_, *chosen_, one.info.id) : Groups(context_, places_);
      one.why = refusal(*one.entry, [&] {
        one.check = one.entry->for_a_run();
        one.check->run(context_, options_of(one.info, wanted_), groups);
        one.found = groups.take();
      });
    };
    base::parallel_for(own.size(), context_.process.rows(), [&](size_t i) { run(*own[i]); });
    for (Look* one : others) run(*one);
  }

  // Replays: task(i) for each i below `count`, told as the part of the progress from `begin` on.
  template <class Task>
  void in_parallel(double begin, double share, size_t count, Task task) {
    const auto caller = std::this_thread::get_id();
    base::parallel_for(count, context_.process.rows(), [&](size_t i) {
      if (std::this_thread::get_id() == caller)
        tell("replay", begin + share * static_cast<double>(i) / static_cast<double>(count));
      task(i);
    });
  }

  void score() {
    std::ranges::stable_sort(scored_, {}, [](const Scored& scored) { return scored.info.precedence; });
    std::vector<Scored*> counted;  // without alternatives
    std::vector<const peak::WhatIf*> changes;
    std::vector<Bytes> alone;
    in_parallel(0.5, 0.2, scored_.size(), [&](size_t i) {
      Scored& scored = scored_[i];
      scored.place = static_cast<uint32_t>(i);
      const peak::Replay::Outcome outcome = replay_.without(scored.group.change);
      scored.peak_after = outcome.peak;
      scored.frees = outcome.most_retained.value > 0;
    });
    for (Scored& scored : scored_) {
      if (scored.info.is_alternative) continue;
      counted.push_back(&scored);
      changes.push_back(&scored.group.change);
      alone.push_back(scored.peak_after);
    }
    const Together together(context_.process, replay_, std::move(changes));
    const Together::Set all = together.all();
    tell("replay", 0.7);
    // A run applies all selected rewrites.
    const Together::Set best = chosen_ ? all : together.lowest(alone, all);
    for (size_t i = 0; i < counted.size(); ++i) counted[i]->is_in = best.has[i];
    in_parallel(0.8, 0.2, counted.size(), [&](size_t i) {
      // A finding without effect alone may be one of several holders of the same storages.
      if (!best.has[i] || counted[i]->peak_after < peak_.bytes) return;
      std::vector<bool> others = best.has;
      others[i] = false;
      counted[i]->retained_at_peak_with_all = std::max(Bytes{}, together.of(others).outcome.peak - best.outcome.peak);
    });
    advice_.peak_after_all = best.outcome.peak;
    advice_.peak_after_all_time = best.outcome.when.time;
    if (context_.applied != nullptr) predict(best.outcome, best.changes());
    const peak::PeakSet left =
        peak_set_without(context_.process, context_.text, context_.device, best.outcome, best.changes());
    advice_.left = remaining_of(context_.process, context_.text, context_.steps, left);
    // Removes findings that free no memory even if all other findings are fixed, because other holders keep every byte.
    std::erase_if(scored_, [&](const Scored& scored) {
      const auto ends_earlier = [&](SaveId save) {
        const AllocationId allocation = context_.process.saves.allocation[save];
        return all.outcome.end(context_.process, allocation) < context_.process.freed(allocation);
      };
      if (scored.group.bytes < wanted_.min_bytes)
        return true;  // the rewrite applies, but the finding is too small to report
      return !scored.frees && !scored.group.change.without.empty() &&
             std::ranges::none_of(scored.group.change.without, ends_earlier);
    });
  }

  void predict(const peak::Replay::Outcome& outcome, const std::vector<const peak::WhatIf*>& all) {
    const peak::Replayed applied{outcome, all};
    const Bytes saved = saved_for_backward(lifetimes_, timeline_, since_);
    const Bytes left = saved_for_backward(lifetimes_, timeline_, since_, &applied);
    advice_.predicted = {wanted_.applying->name, peak_.bytes, outcome.peak, outcome.peak, saved, left, left};
  }

  // Adds the finding and moves its change out of `scored`.
  void words(Scored& scored) {
    const Group group{scored.group.occurrences, scored.group.key.variant, scored.group.bytes,
                      peak_.bytes - scored.peak_after, scored.retained_at_peak_with_all};
    Description description;
    if (auto why = refusal(*scored.entry, [&] { description = scored.check->describe(context_, group); })) {
      if (std::ranges::find(advice_.refused, *why) == advice_.refused.end()) advice_.refused.push_back(std::move(*why));
      return;
    }
    Finding finding = describe_place(context_, places_, scored.group, description.edit);
    finding.id = places_.fingerprint(scored.info.id, scored.group.key);
    finding.check = scored.info.id;
    finding.check_version = scored.info.version;
    finding.is_alternative = scored.info.is_alternative;
    finding.peak_before = peak_.bytes;
    finding.peak_after = scored.peak_after;
    finding.retained_at_peak_with_all = scored.retained_at_peak_with_all;
    finding.is_in_all = scored.is_in;
    finding.is_proved = description.is_proved;
    finding.severity = description.severity;
    const double share = static_cast<double>(finding.retained_at_peak().value) / static_cast<double>(peak_.bytes.value);
    if (finding.severity == Severity::warning && share < kSignificant) finding.severity = Severity::info;
    finding.title = std::move(description.title);
    finding.message = std::move(description.message);
    finding.growth = description.growth;
    finding.notes = std::move(description.notes);
    finding.fix = std::move(description.fix);
    advice_.findings.push_back(std::move(finding));
    changes_.push_back({std::move(scored.group.change), scored.place});
  }

  Advice advice_;
  const peak::Lifetimes& lifetimes_;
  const peak::Timeline& timeline_;
  const peak::PeakSet& peak_;
  const Time since_;
  peak::Replay replay_;
  const Progress& progress_;
  Context context_;
  Places places_;
  const AdviceOptions& wanted_;
  std::optional<SelectedRewrites> chosen_;
  std::vector<std::unique_ptr<check::Check>> checks_;  // the checks that ran
  std::vector<Scored> scored_;
  std::vector<TimelineChange> changes_;  // by finding
};

void widen(Prediction& bounds, const Prediction& other) {
  const auto both = [](Bytes& least, Bytes& most, Bytes also) {
    least = std::min(least, also);
    most = std::max(most, also);
  };
  both(bounds.peak_after, bounds.peak_at_most, other.peak_after);
  both(bounds.saved_after, bounds.saved_at_most, other.saved_after);
}

}  // namespace

Advice advise(const peak::DeviceAnalysis& device, Checks& checks, const AdviceOptions& wanted, const Progress& progress,
              std::vector<TimelineChange>* changes, std::vector<TimelineChange>* longest) {
  Advice advice = Advisor(device, device.of().lifetimes(), wanted, progress).run(checks, changes);
  if (advice.predicted) {
    widen(*advice.predicted,
          *Advisor(device, device.of().longest_lifetimes(), wanted, {}).run(checks, longest).predicted);
  }
  return advice;
}

RewrittenEffect effect_of(const peak::DeviceAnalysis& device, Checks& checks, const Applying& applying) {
  AdviceOptions wanted;
  wanted.applying = applying;
  RewrittenEffect effect = Advisor(device, device.of().lifetimes(), wanted, {}).effect(checks);
  RewrittenEffect longest = Advisor(device, device.of().longest_lifetimes(), wanted, {}).effect(checks);
  effect.peak = std::max(effect.peak, longest.peak);
  effect.run.options = "--apply " + applying.name;
  effect.run.longest = std::move(longest.run.changes);
  return effect;
}

peak::Replay::Outcome without(const Process& process, const peak::Replay& replay,
                              std::span<const TimelineChange* const> ticked) {
  std::vector<const TimelineChange*> changes(ticked.begin(), ticked.end());
  std::ranges::sort(changes, {}, &TimelineChange::place);
  std::vector<uint8_t> claimed(size_t{process.saves.rows()} + 1);
  std::vector<peak::WhatIf> shares;
  shares.reserve(changes.size());
  for (const TimelineChange* change : changes) shares.push_back(without_claimed(process, change->what, claimed));
  std::vector<const peak::WhatIf*> all;
  for (const peak::WhatIf& one : shares) all.push_back(&one);
  return replay.without(all);
}

trace::Status valid(const AdviceOptions& wanted, const Checks& checks) {
  const auto usage = [](std::string why) { return trace::Error{std::move(why), trace::ErrorKind::usage}; };
  const auto known = [&] {
    std::string all;
    for (const Checks::Entry& entry : checks.entries())
      all += (all.empty() ? "" : ", ") + std::string(entry.check->info().id);
    return all;
  };
  for (const std::string& id : wanted.checks) {
    if (checks.find(id) == nullptr) return usage("unknown check '" + id + "': the checks are " + known());
  }
  for (const auto& [name, value] : wanted.options) {
    const size_t dot = name.find('.');
    const Checks::Entry* entry = checks.find(name.substr(0, dot));
    if (dot == std::string::npos || entry == nullptr) {
      return usage("'" + name + "' is not of the form CHECK.OPTION: the checks are " + known());
    }
    const auto options = entry->check->info().options;
    if (std::ranges::find(options, name.substr(dot + 1), &Option::name) != options.end()) continue;
    std::string all;
    for (const Option& option : options) all += (all.empty() ? "" : ", ") + std::string(option.name);
    return usage("check '" + name.substr(0, dot) + "' has no option '" + name.substr(dot + 1) + "': it has " +
                 (all.empty() ? "none" : all));
  }
  return trace::Done{};
}

}  // namespace tapelens::advise
