// Recordings and baselines as snapshots to compare.
#pragma once

#include <string>

#include "analyzer/advise/checks.h"
#include "analyzer/compare/snapshot.h"

namespace tapelens::cli {

// Of a recording, or of what `tapelens check --write-baseline` wrote. `label`: what remarks call it.
trace::Result<compare::Snapshot> read_snapshot(const std::string& file, const std::string& label,
                                               advise::Checks& checks, const compare::FindText& text_of);

}  // namespace tapelens::cli
