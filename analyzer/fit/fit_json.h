// The same for a program.
#pragma once

#include <string>

#include "analyzer/fit/fit.h"

namespace tapelens::fit {

std::string fit_json(const Fit& fit);

}  // namespace tapelens::fit
