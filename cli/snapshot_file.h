// Reads recordings and baselines as snapshots to compare.
#pragma once

#include <string>

#include "analyzer/advise/checks.h"
#include "analyzer/compare/snapshot.h"

namespace tapelens::cli {

// Reads a recording or the output of `tapelens check --write-baseline`. `label`: its name in remarks.
trace::Result<compare::Snapshot> read_snapshot(const std::string& file, const std::string& label,
                                               advise::Checks& checks, const compare::FindText& text_of);

}  // namespace tapelens::cli
