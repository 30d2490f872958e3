// The parts of a report that are about one device of one process.
#pragma once

#include "analyzer/model/text.h"
#include "analyzer/peak/holders.h"
#include "analyzer/peak/timeline.h"
#include "analyzer/report/report.h"

namespace tapelens::report {

Peak describe_peak(const model::Process& process, const model::Text& text, const std::vector<model::Step>& steps,
                   const peak::PeakSet& set, const Options& options);
std::vector<Step> describe_steps(const model::Process& process, const std::vector<model::Step>& steps,
                                 const peak::Timeline& timeline);
std::vector<Range> describe_ranges(const model::Process& process, const model::Text& text,
                                   const peak::Timeline& timeline);

}  // namespace tapelens::report
