// The memory without the ticked findings: the result of the replay, as a curve.
#pragma once

#include <QSet>
#include <QString>
#include <memory>
#include <vector>

#include "gui/models/document.h"
#include "gui/picture/curve.h"

namespace tapelens::gui {

struct WhatIfResult {
  size_t findings = 0;  // number of ticked findings
  Bytes before, after;  // the peak
  Time when;            // time of the remaining peak
  picture::Lowered curve;
};

// `ticked`: fingerprints; unknown ones are ignored. Findings that drop the same saves share them in the order of their
// checks' precedence, as in the advice. Needs Part::relations and Part::advice.
WhatIfResult what_if(const Subject& subject, const QSet<QString>& ticked);

// The indices in the advice of findings whose fix drops a save of this allocation, shortens it, or makes it an alias.
// Needs Part::advice.
std::vector<size_t> findings_about(const Subject& subject, AllocationId allocation);

}  // namespace tapelens::gui
