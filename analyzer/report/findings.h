// What `tapelens advise` says: the findings of a report whose checks have run, rendered. Each wants `report.advice`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/report/layout.h"
#include "analyzer/report/report.h"

namespace tapelens::report {

// How much of it.
struct Extent {
  bool all = false;  // every finding with all of its evidence, those of less than 1 % too
  size_t entry = 0;  // this entry alone, likewise; counted from 1, 0: none is chosen
};
// `style.rows` entries; how many more there are is said. `rows` are the findings that are said in full.
std::string advice_text(const Report& report, const Style& style, const Extent& extent = {});
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

// ". 2 code changes -> 110.2 MiB (-22.0 %); everything below -> 89.9 MiB (-36.7 %).": what follows the peak.
std::string outlook_text(const advise::Advice& advice);
// Of files that are others now than those that ran; empty: there are none.
std::string changed_text(const advise::Advice& advice);
// "1 group of saved tensors ..." of what is automatic; else the title of its first finding.
std::string entry_title(const advise::Advice& advice, const advise::Entry& entry);
// What an entry comes under: "Do this first".
const char* section_title(const advise::Entry& entry);
// "-12.4 MiB"; of what grows without bound "+1.5 MiB a step".
std::string change_text(const advise::Advice& advice, const advise::Entry& entry);
// How much of the peak that is, "-65 %", else the severity: "ERROR", "info".
std::string weight_text(const advise::Advice& advice, const advise::Entry& entry);
// The entry that a finding is part of, counted from 1.
size_t entry_number(const advise::Advice& advice, size_t finding);
// What may be done about memory that no check covers; empty: nothing is known.
std::string remedy_text(const advise::Remaining& left);
// "128.0 MiB operator temporaries, 128.0 MiB of it aten::_log_softmax_backward_data in GPT"
std::string remaining_text(const advise::Remaining& left);
Paint paint_of(check::Severity severity);
// One finding with all that is known of it, below a title that starts with `number`.
void add_finding(Page& page, const advise::Finding& finding, const std::string& number);
// Checks that failed and data that was lost.
void add_gaps(Page& page, const Report& report);

// What its allocator would have reserved, and what makes the recording fit; nothing for a device without.
void add_allocator(Page& page, const Report& report);
// Where segments take far more than the peak and a setting helps: both, in a sentence; else empty.
std::string reserved_headline(const Report& report);

// The options that make `tapelens advise` look at the same memory: " --device cuda:1"
std::string same_memory(const Report& report);

// What Advice::peak_after_all is without: "all findings", "the finding", "4 of 6 findings"; empty: there is none.
std::string fixed_text(const advise::Advice& advice);
// "peak 174.0 MiB -> 130.2 MiB (-43.8 MiB, -25.2 %)", or that it does not move and why.
std::string effect_text(const advise::Finding& finding);
// "train.py:42 Net.forward"; empty: not known.
std::string source_text(const Frame& frame);
// The same, and the library's line that it calls: "train.py:42 main, in modeling_gpt2.py:201 forward".
std::string source_text(const advise::Finding& finding);
// "12 sites, 36 times in 3 steps"
std::string times_text(const advise::Finding& finding);
// "ConvolutionBackward0.input of aten::convolution in Net.stages.*.conv1": what is known of it.
std::string place_text(const advise::Finding& finding);
// One line: "8.0 MiB x3  ReluBackward0.result, float32 [8, 64], made by aten::relu, also kept by ..."
std::string evidence_text(const advise::Evidence& evidence);

}  // namespace tapelens::report
