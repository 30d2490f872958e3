// What `tapelens advise` says: the findings of a report whose checks have run, rendered. Each wants `report.advice`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/report/layout.h"
#include "analyzer/report/report.h"

namespace tapelens::report {

// `rows` are the findings that are said in full; how many more there are is said.
std::string advice_text(const Report& report, const Style& style);
std::string advice_markdown(const Report& report, size_t rows);
std::string advice_json(const Report& report);  // `recording`, `advice` and `findings` of the report's JSON

// Findings that a rewrite fixes, for a person to edit and for a run to apply.
std::string plan(const Report& report);

// What SARIF says of a check.
struct Rule {
  std::string id, title, help;
  std::string page;  // Markdown; empty: there is none
};

using check::SourceTree;
std::string sarif(const Report& report, const std::vector<Rule>& rules, const SourceTree& tree,
                  std::string_view version);

// The first few findings in a report, in short.
void add_findings(Page& page, const Report& report);

// The same for Markdown: a table of those that lower the peak or are more than info, what else there is in one line.
std::string findings_table(const Report& report);

// What its allocator would have reserved, and what makes the recording fit; nothing for a device without.
void add_allocator(Page& page, const Report& report);

// What Advice::peak_after_all is without: "all findings", "the finding", "4 of 6 findings"; empty: there is none.
std::string fixed_text(const advise::Advice& advice);
// "peak 174.0 MiB -> 130.2 MiB (-43.8 MiB, -25.2 %)", or that it does not move and why.
std::string effect_text(const advise::Finding& finding);
// "train.py:42 Net.forward"; empty: not known.
std::string source_text(const Frame& frame);
// "12 sites, 36 times in 3 steps"
std::string times_text(const advise::Finding& finding);
// "ConvolutionBackward0.input of aten::convolution in Net.stages.*.conv1": what is known of it.
std::string place_text(const advise::Finding& finding);
// One line: "8.0 MiB x3  ReluBackward0.result, float32 [8, 64], made by aten::relu, also kept by ..."
std::string evidence_text(const advise::Evidence& evidence);

}  // namespace tapelens::report
