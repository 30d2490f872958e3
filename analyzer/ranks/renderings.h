// The formats of a comparison of ranks, and the texts that they share.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

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

// ---- the texts that all renderings share
std::string count_of_ranks(const Job& job);               // "1,024 ranks"; for processes without a rank "3 processes"
std::string name_on_host(const Rank& rank);               // "rank 37 (dp=4 tp=1) on node04"
std::string category_label(std::string_view category);    // "saved for backward"
std::string category_heading(std::string_view category);  // "saved"
// Of two ranks "6.0 MiB (rank 0) and 14.0 MiB (rank 1)".
std::string peak_text(const Job& job);  // "median 61.2 GiB, from 60.9 GiB (rank 12) to 74.0 GiB (rank 37)"
// "peak 74.0 GiB, 12.8 GiB (20.9 %) more than the median rank"
std::string outlier_text(const Job& job, const Outlier& outlier);
// One sentence. Empty unless the job has two ranks:
// "Rank 1 needs 8.0 MiB (133.0 %) more than rank 0: mainly other live tensors (2.0 KiB -> 8.0 MiB), train.py:23 main."
std::string two_ranks_text(const Job& job);
std::string reason_text(const Reason& reason);                            // "5.0 GiB -> 17.8 GiB  ReluBackward0.result"
std::string on_ranks_text(const Job& job, const SharedFinding& finding);  // "on 1,000 of 1,024 ranks"
std::string place_text(const FindingSummary& finding);  // "ReluBackward0.result, Net.head, train.py:17"
std::string missing_text(const Job& job);               // empty: none is missing
// Problems with the recordings, one sentence each.
std::vector<std::string> remarks_of(const Job& job);
std::string end_text(const RankSummary& rank);  // "fine", "out of memory", "exit code 1", "still running", "died"

}  // namespace tapelens::ranks
