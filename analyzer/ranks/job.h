// Compares the ranks of a run: outliers and their reasons, ranks that died or are missing, and shared findings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/ranks/curve.h"
#include "analyzer/ranks/summary.h"

namespace tapelens::ranks {

// A requested file: its summary, or why it is left out.
struct RankFile {
  std::string file;
  std::optional<Summary> summary;
  std::string why;               // without the file's name
  bool is_from_columns = false;  // the file had no summary
};

struct Options {
  std::string device;  // "cuda": type of the compared devices; empty: the type with the largest median run::Precedence
};

// A rank that is compared with the others.
struct Rank {
  RankSummary summary;
  std::string file;
  const DeviceSummary& device() const { return summary.devices[on]; }
  size_t on = 0;  // index in summary.devices of the device of the compared type with the largest peak

  std::string name() const;  // "rank 37", or "process 4711" without a rank
};

// A key of which a rank holds more or less than the median rank.
struct Reason {
  By by{};
  std::string key;
  Bytes here, median;
  Bytes difference() const { return here - median; }
};

struct Outlier {
  enum class Of : uint8_t { peak, category, reserved, steps };
  size_t rank = 0;  // index in Job::ranks
  Of of{};
  std::string category;  // for Of::category
  int64_t here = 0, median = 0;
  // Distance from the median in standard deviations, estimated from the median distance. None if all others are equal.
  std::optional<double> z;
  std::vector<Reason> reasons;  // in the order of By; only those that explain a tenth of the difference or more
};

struct SharedFinding {
  FindingSummary finding;     // from the rank where it holds most
  std::vector<size_t> ranks;  // indices, sorted
  Bytes median, most;         // bytes that it holds on these ranks
};

struct CategoryRange {
  std::string category;
  Bytes least, median, most;
};

struct Job {
  std::string command, torch_version, simulated_gpu;
  std::string device_type;  // "cuda"
  std::vector<Rank> ranks;  // by rank
  std::vector<std::string> hosts;
  Bytes least, median, most;  // over the ranks' peaks
  size_t least_rank = 0, most_rank = 0;
  std::vector<CategoryRange> categories;  // largest median first
  Envelope envelope;
  std::vector<Outlier> outliers;  // most distant first; peaks before categories before the rest
  bool has_enough = true;         // enough ranks for a meaningful median
  // Only of two ranks: the rank with the larger peak. The other rank takes the place of the median.
  std::optional<Outlier> larger_of_two;
  // Ranks that ended with an error and its reason ("exit code 1"), sorted by the time on their host's clock.
  std::vector<std::pair<Rank, std::string>> ended_badly;
  uint64_t expected = 0;                               // expected number of ranks; 0: unknown
  std::vector<std::pair<uint64_t, uint64_t>> missing;  // first and last rank of each gap
  uint64_t missing_count = 0;
  std::vector<SharedFinding> findings;  // those on the most ranks first, then by gain
  uint64_t findings_unknown = 0;        // number of ranks without known findings
  uint64_t findings_cut = 0;            // number of ranks whose summary omits some findings
  uint64_t incomplete = 0;              // number of ranks that lost data
  std::vector<RankFile> left_out;       // files, with the reason in `why`
  uint64_t from_columns = 0;            // number of files without a summary
  std::vector<std::string> remarks;     // one sentence each
};

// `version`: of this Tapelens. Findings from another version's checks are not used. An error of kind nothing_compared
// if no file describes a rank.
trace::Result<Job> merge(std::vector<RankFile> sources, const Options& options, std::string_view version);

// The outliers. Needs ranks, device_type and hosts.
std::vector<Outlier> outliers_of(const Job& job);
inline constexpr size_t kFewestRanks = 5;  // a smaller sample has no useful median
// Smaller differences of peaks count as none: as a share of the median peak or, of two ranks, of the other rank's.
inline constexpr double kLeastShare = 0.02;
// For Job::larger_of_two. Needs exactly two ranks and the figures of their peaks.
Outlier larger_of_two(const Job& job);

// "cuda" of "cuda:3"
std::string_view type_of(std::string_view device);

}  // namespace tapelens::ranks
