// A finding and its entry in words, for tables and panes.
#pragma once

#include <QString>

#include "analyzer/advise/advice.h"

namespace tapelens::gui {

// "automatic", "patch", "code change", "alternative": what fixes it, in a word or two. `first`: of the entry's
// findings.
QString fixing_text(const advise::Entry& entry, const advise::Finding& first);
// What is known of the results of a program that is fixed so, in a sentence or two.
QString guarantee_text(const advise::Finding& finding);
// "−12.0 MiB", "0 B", "+1.0 MiB"
QString signed_text(model::Bytes change);
// "−12.0 MiB", "−3.1 MiB with others", "0 B", "+1.0 MiB": how the peak changes with it alone.
QString change_text(const advise::Finding& finding);
// "train.py:42 in Net.layer1", "train.py:42 main" outside of modules
QString where_text(const advise::Finding& finding);
// Of the rewrite that fixes a finding; -1: none does.
int rewrite_level(const advise::Finding& finding);

}  // namespace tapelens::gui
