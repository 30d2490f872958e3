// The result of `tapelens fit` as JSON.
#pragma once

#include <string>

#include "analyzer/fit/fit.h"

namespace tapelens::fit {

std::string fit_json(const Fit& fit);

}  // namespace tapelens::fit
