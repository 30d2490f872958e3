// Reads the figures of recordings and baselines to compare, and the sources of the recorded program.
#pragma once

#include <string>

#include "analyzer/advise/checks.h"
#include "analyzer/compare/run_figures.h"

namespace tapelens::cli {

// Reads a recording or the output of `tapelens check --write-baseline`. `label`: its name in remarks.
trace::Result<compare::RunFigures> read_run_figures(const std::string& file, const std::string& label,
                                                    advise::Checks& checks, const compare::FindText& text_of);

// The contents of a program's files when it ran: from the disk if unchanged, else from git's history.
// `recording`: as on the command line. Relative names and repositories are resolved from its folder and from the
// working directory.
compare::FindText find_texts(const std::string& recording);

}  // namespace tapelens::cli
