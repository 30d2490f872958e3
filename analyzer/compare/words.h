// Sentences that the renderings of a comparison share.
#pragma once

#include <string>

#include "analyzer/compare/gate.h"

namespace tapelens::compare {

// "+16.0 MiB", "-16.0 MiB", "0 B"
std::string signed_text(Bytes bytes);
// "+84.2 %"; empty if `before` is 0.
std::string percent_change(int64_t before, int64_t after);

// "peak of cpu 19.0 MiB -> 35.0 MiB (+16.0 MiB, +84.2 %; at most 19.2 MiB)"
std::string figure_text(const Item& item);
// "train.py:14"; empty if no line is known.
std::string line_text(const Cause& cause);
// A failed item on one line: the line of the program, the figure, the statement.
std::string failed_text(const Item& item);
// "  +12.0 MiB  4.0 MiB -> 16.0 MiB  increased  ReluBackward0.result  Net.fc  train.py:7 Net.forward"
std::string row_text(const ComparedRow& row);

}  // namespace tapelens::compare
