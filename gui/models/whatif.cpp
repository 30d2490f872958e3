#include "gui/models/whatif.h"

#include <utility>

#include "analyzer/advise/advice.h"

namespace tapelens::gui {

WhatIfResult what_if(const Subject& subject, const QSet<QString>& ticked) {
  const Advised& advised = *subject.advised;
  std::vector<const advise::Change*> changes;
  for (size_t i = 0; i < advised.changes.size(); ++i) {
    if (ticked.contains(QString::fromStdString(advised.advice.findings[i].id))) changes.push_back(&advised.changes[i]);
  }
  peak::Replay::Outcome outcome = advise::without(subject.of.process, subject.analysis.replay(), changes);
  return {changes.size(), subject.device.peak, outcome.peak, outcome.when.time,
          picture::Lowered(subject.timeline, std::move(outcome.lower))};
}

}  // namespace tapelens::gui
