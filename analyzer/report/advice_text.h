// The output of `tapelens advise` on a terminal and as Markdown, and its sentences. All functions require
// `report.advice`.
#pragma once

#include <cstddef>
#include <string>

#include "analyzer/advise/advice.h"
#include "analyzer/report/report.h"
#include "analyzer/text/layout.h"

namespace tapelens::report {

// The selection of entries to render.
struct EntrySelection {
  bool all = false;  // every finding with all of its evidence, also small entries
  size_t entry = 0;  // only this entry, with all of its evidence; counted from 1; 0: no choice
};
// Shows `style.rows` entries and the number of the others.
std::string advice_text(const Report& report, const text::Style& style, const EntrySelection& selection = {});

// A short list of the first few findings, for a report.
void add_findings(text::Page& page, const Report& report);
// Checks that failed and data that was lost.
void add_gaps(text::Page& page, const Report& report);

// ". 2 code changes -> 110.2 MiB (-22.0 %); everything below -> 89.9 MiB (-36.7 %).": the text after the peak.
std::string outlook_text(const advise::Advice& advice);
// Names the files that changed since the recording; empty: no such file.
std::string changed_text(const advise::Advice& advice);
// "1 group of saved tensors ..." for an automatic entry; else the title of the first finding.
std::string entry_title(const advise::Advice& advice, const advise::Entry& entry);
// The title of the entry's section: "Do this first".
const char* section_title(const advise::Entry& entry);
// The line to edit and its code: "train.py:42 Net.forward   x = f(x)". The library's line if call_text() has the
// user's. Empty: unknown.
std::string line_text(const advise::Advice& advice, const advise::Finding& finding);
// The one line of the user that all code changes are for; empty: they have several.
std::string call_text(const advise::Advice& advice);
// "-12.4 MiB"; for unbounded growth "+1.5 MiB a step".
std::string change_text(const advise::Advice& advice, const advise::Entry& entry);
// The change as a share of the peak, "-65 %"; else the severity: "ERROR", "info".
std::string weight_text(const advise::Advice& advice, const advise::Entry& entry);
// "128.0 MiB operator temporaries, 128.0 MiB of it aten::_log_softmax_backward_data in GPT"
std::string remaining_text(const advise::Remaining& left);

// Advice about memory at the peak that no check covers. Leaves out techniques that the program uses already. Empty: no
// known advice.
std::string remedy_text(const advise::Remaining& left, const peak::InUse& in_use);

// ---- as GitHub Markdown

// `rows`: the number of findings shown in full.
std::string advice_markdown(const Report& report, size_t rows);
// A table of the entries that are not small, and a line with the number of small entries.
std::string findings_table(const Report& report);

}  // namespace tapelens::report
