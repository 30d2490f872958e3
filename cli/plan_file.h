// A plan as `tapelens advise --plan` wrote it and a person edited it: read, checked, and handed to the probe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/result.h"

namespace tapelens::cli {

// What is empty holds for all. `module`: "*" stands for any number. `file`: the last part of its path.
struct PlanSite {
  std::string finding;  // its id in the advice
  std::string rewrite, module, op, node, field, file;
  uint32_t line = 0;
};

// "unneeded-save ConvolutionBackward0.input of aten::conv2d in ResNet.layer*.conv1, train.py:27": what is known of it.
std::string describe(const PlanSite& site);

// The sites that are enabled. `known`: the rewrites that there are; empty: others may be meant too. The error names the
// file, the site and what is wrong with it.
trace::Result<std::vector<PlanSite>> read_plan(const std::string& path, const std::vector<std::string>& known);

// One site a line, as profiler/rewrite/settings.h reads them.
std::string flat(const std::vector<PlanSite>& sites);

}  // namespace tapelens::cli
