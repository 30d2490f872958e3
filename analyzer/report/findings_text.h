// The texts of one finding, and its block on a page of a terminal.
#pragma once

#include <cstddef>
#include <string>

#include "analyzer/advise/advice.h"
#include "analyzer/text/layout.h"

namespace tapelens::report {

text::Paint paint_of(check::Severity severity);
// One finding with all of its evidence, below a title that starts with `number`.
void add_finding(text::Page& page, const advise::Finding& finding, const std::string& number);

// The number of the entry that contains the finding, counted from 1.
size_t entry_number(const advise::Advice& advice, size_t finding);
// The findings fixed in Advice::peak_after_all: "all findings", "the finding", "4 of 6 findings"; empty: no finding.
std::string fixed_text(const advise::Advice& advice);
// "peak 174.0 MiB -> 130.2 MiB without it (-25.2 %)", or the reason why the peak does not fall.
std::string effect_text(const advise::Finding& finding);
// "train.py:42 Net.forward"; empty: unknown.
std::string source_text(const advise::Frame& frame);
// With the called line of a library: "train.py:42 main, in modeling_gpt2.py:201 forward".
std::string source_text(const advise::Finding& finding);
// "12 sites, 36 times in 3 steps"
std::string times_text(const advise::Finding& finding);
// The known parts of "ConvolutionBackward0.input of aten::convolution in Net.stages.*.conv1".
std::string place_text(const advise::Finding& finding);
// One line: "8.0 MiB x3  ReluBackward0.result  float32 [8, 64], made by aten::relu, held by ..."
std::string evidence_text(const advise::Evidence& evidence);

}  // namespace tapelens::report
