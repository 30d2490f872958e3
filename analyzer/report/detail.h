// The parts of a report that are about one device of one process.
#pragma once

#include <string_view>
#include <vector>

#include "analyzer/model/text.h"
#include "analyzer/peak/holders.h"
#include "analyzer/peak/timeline.h"
#include "analyzer/report/report.h"

namespace tapelens::report {

// What the recorder noted under a key: "torch_version". Empty: nothing.
std::string_view information(const model::Process& process, const model::Text& text, std::string_view key);

// The begin of the first step that was watched as a whole: before it only memory was, so that nothing there has a
// holder. `window`: what is noted under "steps", of `tapelens record --steps`.
Time watched_since(std::string_view window, const std::vector<model::Step>& steps);

Peak describe_peak(const model::Process& process, const model::Text& text, const std::vector<model::Step>& steps,
                   const peak::PeakSet& set, const Options& options);
std::vector<Step> describe_steps(const model::Process& process, const std::vector<model::Step>& steps,
                                 const peak::Timeline& timeline);
std::vector<Range> describe_ranges(const model::Process& process, const model::Text& text,
                                   const peak::Timeline& timeline);

}  // namespace tapelens::report
