// The formats of a comparison of ranks.
#pragma once

#include <array>
#include <string>

#include "analyzer/ranks/job.h"
#include "analyzer/text/layout.h"

namespace tapelens::ranks {

// style.rows limits each list.
std::string ranks_text(const Job& job, const text::Style& style);
std::string ranks_markdown(const Job& job, const text::Style& style);
std::string ranks_json(const Job& job, const text::Style& style);  // all rows of each list

struct Format {
  const char* name;
  std::string (*render)(const Job&, const text::Style&);
};
inline constexpr std::array<Format, 3> kFormats = {
    {{"text", ranks_text}, {"markdown", ranks_markdown}, {"json", ranks_json}}};

}  // namespace tapelens::ranks
