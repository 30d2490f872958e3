// The recording in progress that the user names.
#pragma once

#include <string>

#include "analyzer/live/live_run.h"
#include "trace/result.h"

namespace tapelens::cli {

// `name`: a recording that is written, its folder of spools, a spool, or a pid; empty: the newest folder of spools
// here.
trace::Result<live::LiveTarget> find_live_target(const std::string& name);

}  // namespace tapelens::cli
