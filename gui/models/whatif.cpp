#include "gui/models/whatif.h"

#include <algorithm>
#include <utility>

#include "analyzer/advise/advice.h"

namespace tapelens::gui {

WhatIfResult what_if(const Subject& subject, const QSet<QString>& ticked) {
  const Advised& advised = *subject.advised;
  std::vector<const advise::TimelineChange*> changes;
  for (size_t i = 0; i < advised.changes.size(); ++i) {
    if (ticked.contains(QString::fromStdString(advised.advice.findings[i].id))) changes.push_back(&advised.changes[i]);
  }
  peak::Replay::Outcome outcome = advise::without(subject.of.process, subject.analysis.replay(), changes);
  return {changes.size(), subject.device.peak, outcome.peak, outcome.when.time,
          picture::Lowered(subject.timeline, std::move(outcome.lower))};
}

std::vector<size_t> findings_about(const Subject& subject, AllocationId allocation) {
  const Advised& advised = *subject.advised;
  const Process& p = subject.of.process;
  const auto is_about = [&](const peak::WhatIf& what) {
    return std::ranges::any_of(what.without,
                               [&](model::SaveId save) { return p.saves.allocation[save] == allocation; }) ||
           std::ranges::any_of(what.ends, [&](const auto& end) { return end.allocation == allocation; }) ||
           std::ranges::any_of(what.aliases, [&](const auto& alias) { return alias.copy == allocation; });
  };
  std::vector<size_t> places;
  for (size_t i = 0; i < advised.changes.size(); ++i) {
    if (is_about(advised.changes[i].what)) places.push_back(i);
  }
  return places;
}

}  // namespace tapelens::gui
