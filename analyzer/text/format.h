// Numbers and names for people: human units, bars, sparklines, text cut to a width.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/model.h"
#include "analyzer/model/words.h"

namespace tapelens::text {

using model::bytes_text;
using model::count_text;
using model::plural;
// "37.5 MiB to 40.6 MiB"; only the first number if they differ by less than 1 %.
std::string bounds_text(model::Bytes least, model::Bytes most);
// The difference from `before`: "-5.2 % to +1.0 %"; only the first number under the same condition.
std::string bounds_text(model::Bytes before, model::Bytes least, model::Bytes most);
std::string time_text(model::Time time);                          // "4.812 s", "1.3 ms"
std::string percent_text(model::Bytes part, model::Bytes whole);  // "65.5 %"

// A bar of eighths of a cell, at most `cells` wide. A fraction above zero shows at least one eighth.
std::string bar(double fraction, unsigned cells);
// One character for each value, scaled from the lowest to the highest value. A series longer than `cells` is folded:
// each cell shows the largest of its values.
std::string sparkline(const std::vector<int64_t>& values, unsigned cells);

unsigned columns(std::string_view utf8);  // code points: the cells that our text takes in a terminal
// Replaces the middle by "…" if the text is too wide: both ends of a path are informative.
std::string fit(std::string_view utf8, unsigned width);
std::string pad_right(std::string_view utf8, unsigned width);
std::string pad_left(std::string_view utf8, unsigned width);

}  // namespace tapelens::text
