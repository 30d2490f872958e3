// What a program's files held when it ran: from the disk, where they are still the same, else from git's history.
#pragma once

#include <string>

#include "analyzer/compare/snapshot.h"

namespace tapelens::cli {

// `recording`: as given on the command line; relative names and repositories are looked for from it and from here.
compare::FindText find_texts(const std::string& recording);

}  // namespace tapelens::cli
