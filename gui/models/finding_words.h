// Findings and their entries as text, for tables and panes.
#pragma once

#include <QString>

#include "analyzer/advise/advice.h"

namespace tapelens::gui {

// The kind of fix: "automatic", "patch", "code change", "alternative". `first`: the first finding of the entry.
QString fixing_text(const advise::Entry& entry, const advise::Finding& first);
// The guarantee for the results of the fixed program, in a sentence or two.
QString guarantee_text(const advise::Finding& finding);
// "−12.0 MiB", "0 B", "+1.0 MiB"
QString signed_text(model::Bytes change);
// The change of the peak if only this finding is fixed: "−12.0 MiB", "−3.1 MiB with others", "0 B", "+1.0 MiB".
QString change_text(const advise::Finding& finding);
// "train.py:42 in Net.layer1", "train.py:42 main" outside of modules
QString where_text(const advise::Finding& finding);
// The level of the rewrite that fixes a finding; -1 if none does.
int rewrite_level(const advise::Finding& finding);

}  // namespace tapelens::gui
