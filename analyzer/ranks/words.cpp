#include <algorithm>
#include <cctype>

#include "analyzer/ranks/renderings.h"
#include "analyzer/report/categories.h"
#include "analyzer/report/modules.h"
#include "analyzer/text/format.h"
#include "analyzer/text/names.h"

namespace tapelens::ranks {

using text::bytes_text;
using text::count_text;
using text::percent_text;
using text::plural;

namespace {

// Limits a list of ranks: "3, 7 and 12", "3, 7, 12 and 9 more".
constexpr size_t kNamed = 6;

bool has_ranks(const Job& job) { return job.ranks.front().summary.rank >= 0; }

std::optional<peak::HolderKind> kind_of(std::string_view category) {
  for (size_t i = 0; i < peak::kHolderKinds; ++i) {
    const auto kind = static_cast<peak::HolderKind>(i);
    if (category == category_name(kind)) return kind;
  }
  return std::nullopt;
}

std::string difference_text(int64_t here, int64_t median) {
  const Bytes difference{std::abs(here - median)};
  const std::string share = median > 0 ? " (" + percent_text(difference, Bytes{median}) + ")" : "";
  return bytes_text(difference) + share + (here > median ? " more" : " less") + " than the median rank";
}

bool is_outside_of_modules(const Reason& reason) { return reason.by == By::module && !text::is_path(reason.key); }

std::string reason_key(const Reason& reason) {
  return reason.by == By::category || reason.by == By::field ? category_label(reason.key) : reason.key;
}

}  // namespace

std::string count_of_ranks(const Job& job) {
  return has_ranks(job) ? plural(job.ranks.size(), "rank", "ranks") : plural(job.ranks.size(), "process", "processes");
}

std::string name_on_host(const Rank& rank) {
  const std::string& place = rank.summary.mesh_coordinate;
  return rank.name() + (place.empty() ? "" : " (" + place + ")") +
         (rank.summary.host.empty() ? "" : " on " + rank.summary.host);
}

std::string category_label(std::string_view category) {
  const auto kind = kind_of(category);
  return kind ? report::label(*kind) : std::string(category);
}

std::string category_heading(std::string_view category) {
  const auto kind = kind_of(category);
  return kind ? report::heading(*kind) : std::string(category);
}

std::string peak_text(const Job& job) {
  if (job.ranks.size() == 1) return bytes_text(job.median);
  if (job.ranks.size() == 2) {
    const auto peak_of = [](const Rank& rank) { return bytes_text(rank.device().peak) + " (" + rank.name() + ")"; };
    return peak_of(job.ranks[0]) + " and " + peak_of(job.ranks[1]);
  }
  return "median " + bytes_text(job.median) + ", from " + bytes_text(job.least) + " (" +
         job.ranks[job.least_rank].name() + ") to " + bytes_text(job.most) + " (" + job.ranks[job.most_rank].name() +
         ")";
}

std::string outlier_text(const Job& job, const Outlier& outlier) {
  switch (outlier.of) {
    case Outlier::Of::peak:
      return "peak " + bytes_text(Bytes{outlier.here}) + ", " + difference_text(outlier.here, outlier.median);
    case Outlier::Of::category:
      return category_label(outlier.category) + " " + bytes_text(Bytes{outlier.here}) + " at its peak, " +
             difference_text(outlier.here, outlier.median) + "; the peak itself is as others are";
    case Outlier::Of::reserved:
      return "reserved " + bytes_text(Bytes{outlier.here}) + " of the GPU, " +
             difference_text(outlier.here, outlier.median) + "; its allocated bytes do not stand out";
    case Outlier::Of::steps:
      break;
  }
  const bool is_early = outlier.here < outlier.median;
  return plural(static_cast<uint64_t>(outlier.here), "step", "steps") + ", where " +
         (job.ranks.size() > kFewestRanks ? "nearly all" : "others") + " have " +
         count_text(static_cast<uint64_t>(outlier.median)) + (is_early ? ": it ended earlier, or is slower" : "");
}

std::string two_ranks_text(const Job& job) {
  if (!job.larger_of_two) return "";
  const Outlier& larger = *job.larger_of_two;
  const Rank &more = job.ranks[larger.rank], &less = job.ranks[1 - larger.rank];
  const Bytes difference{larger.here - larger.median}, other{larger.median};
  if (difference.value == 0) {
    return "Both " + std::string(has_ranks(job) ? "ranks" : "processes") + " need " + bytes_text(other) +
           " at their peak.";
  }
  std::string text = more.name() + " needs " + bytes_text(difference) +
                     (other.value > 0 ? " (" + percent_text(difference, other) + ")" : "") + " more than " +
                     less.name();
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  if (static_cast<double>(difference.value) <= kLeastShare * static_cast<double>(other.value)) {
    return text + ": about the same.";
  }
  if (std::ranges::all_of(larger.reasons, is_outside_of_modules)) {
    return text + ", in many small parts.";
  }
  text += ": mainly ";
  const std::string category = larger.reasons.front().by == By::category ? larger.reasons.front().key : "";
  bool is_first = true;
  for (const Reason& reason : larger.reasons) {
    if (!is_first && reason.by == By::field && reason.key == category) continue;  // a category without fields
    if (is_outside_of_modules(reason)) continue;
    text += (is_first ? "" : ", ") + reason_key(reason);
    if (is_first) text += " (" + bytes_text(reason.median) + " -> " + bytes_text(reason.here) + ")";
    is_first = false;
  }
  return text + ".";
}

std::string reason_text(const Reason& reason) {
  return bytes_text(reason.median) + " -> " + bytes_text(reason.here) + "  " + reason_key(reason);
}

std::string on_ranks_text(const Job& job, const SharedFinding& finding) {
  const size_t known = job.ranks.size() - job.findings_unknown;
  std::string text = finding.ranks.size() == known && known > 1
                         ? "on all " + count_text(known)
                         : "on " + count_text(finding.ranks.size()) + " of " + count_text(known);
  text += has_ranks(job) ? (known == 1 ? " rank" : " ranks") : (known == 1 ? " process" : " processes");
  if (finding.ranks.size() == known || finding.ranks.size() > kNamed || !has_ranks(job)) return text;
  for (size_t i = 0; i < finding.ranks.size(); ++i) {
    text += (i == 0 ? ": " : ", ") + std::to_string(job.ranks[finding.ranks[i]].summary.rank);
  }
  return text;
}

std::string place_text(const FindingSummary& finding) {
  std::string text;
  for (const std::string& part : {finding.field, finding.module, finding.source}) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  }
  return text;
}

std::string missing_text(const Job& job) {
  if (job.missing_count == 0) return "";
  std::string text = "No recording exists of ";
  text += job.missing_count == 1 ? "rank "
                                 : count_text(job.missing_count) + " of the " + count_text(job.expected) + " ranks: ";
  for (size_t i = 0; i < std::min(kNamed, job.missing.size()); ++i) {
    const auto& [first, last] = job.missing[i];
    text += (i == 0 ? "" : ", ") + std::to_string(first) + (first == last ? "" : " to " + std::to_string(last));
  }
  return text + (job.missing.size() > kNamed ? ", ..." : "");
}

std::vector<std::string> remarks_of(const Job& job) {
  std::vector<std::string> out = job.remarks;
  if (!job.has_enough && job.ranks.size() > 2) {
    out.push_back("Outliers are found from " + std::to_string(kFewestRanks) +
                  " ranks on: a median of fewer is not meaningful.");
  }
  if (job.incomplete > 0) {
    out.push_back(plural(job.incomplete, "rank", "ranks") + " lost data: tapelens report FILE says what.");
  }
  if (job.from_columns > 0) {
    out.push_back(plural(job.from_columns, "file has", "files have") +
                  " no summary of this version: read from the recording itself, which takes longer.");
  }
  if (job.findings_unknown > 0) {
    out.push_back("Findings are not known of " + count_text(job.findings_unknown) + " of " + count_of_ranks(job) +
                  ": checks run when a recording of at most " + count_text(kMostEventsChecked) +
                  " events is sealed. --findings runs them now.");
  }
  if (job.findings_cut > 0) {
    out.push_back("The summaries of " + plural(job.findings_cut, "rank", "ranks") +
                  " have not all of their findings: some may be on more ranks.");
  }
  return out;
}

std::string end_text(const RankSummary& rank) {
  if (rank.out_of_memory > 0) return "out of memory";
  if (rank.exit_code.value_or(0) != 0) return "exit code " + std::to_string(*rank.exit_code);
  if (rank.running) return "still running";
  return rank.finished ? "fine" : "died";
}

}  // namespace tapelens::ranks
