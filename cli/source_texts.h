// The contents of a program's files when it ran: from the disk if unchanged, else from git's history.
#pragma once

#include <string>

#include "analyzer/compare/snapshot.h"

namespace tapelens::cli {

// `recording`: as on the command line. Relative names and repositories are resolved from its folder and from the
// working directory.
compare::FindText find_texts(const std::string& recording);

}  // namespace tapelens::cli
