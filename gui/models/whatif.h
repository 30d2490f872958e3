// The memory without some of the findings: the replay's answer for what is ticked, as a curve to draw.
#pragma once

#include <QSet>
#include <QString>
#include <memory>
#include <vector>

#include "gui/models/document.h"
#include "gui/picture/curve.h"

namespace tapelens::gui {

struct WhatIfResult {
  size_t findings = 0;  // that are ticked
  Bytes before, after;  // the peak
  Time when;            // of the peak that is left
  picture::Lowered curve;
};

// `ticked`: fingerprints; those that no finding has are left out. Findings that drop the same saves share them in the
// order of their checks' precedence, as in the advice. Wants Part::relations and Part::advice.
WhatIfResult what_if(const Subject& subject, const QSet<QString>& ticked);

// The places in the advice of the findings whose fix drops a save of this allocation, ends it earlier or makes it an
// alias. Wants Part::advice.
std::vector<size_t> findings_about(const Subject& subject, AllocationId allocation);

}  // namespace tapelens::gui
