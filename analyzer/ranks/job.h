// The ranks of one run side by side: which of them stand out and why, which died or are missing, what they have in
// common.
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

// A file that was asked for: what it says, or why it is left out.
struct Source {
  std::string file;
  std::optional<Summary> summary;
  std::string why;               // without the file's name
  bool is_from_columns = false;  // it carried no summary
};

struct Options {
  std::string device;  // "cuda": of which ranks are compared; empty: the type with the largest median peak
};

// A rank that is compared with the others.
struct Rank {
  RankSummary summary;
  std::string file;
  const DeviceSummary& device() const { return summary.devices[on]; }
  size_t on = 0;  // place in summary.devices: of the compared type, the one with the largest peak

  std::string name() const;  // "rank 37", or "process 4711" of one without a rank
};

// What a rank holds more or less of than the median rank.
struct Reason {
  By by{};
  std::string key;
  Bytes here, median;
  Bytes difference() const { return here - median; }
};

struct Outlier {
  enum class Of : uint8_t { peak, category, reserved, steps };
  size_t rank = 0;  // place in Job::ranks
  Of of{};
  std::string category;  // of Of::category
  int64_t here = 0, median = 0;
  // Distance in standard deviations, as the median of the distances has them; none: no two others differ.
  std::optional<double> z;
  std::vector<Reason> reasons;  // in the order of By; those that explain a tenth of the difference or more
};

struct SharedFinding {
  Finding finding;            // of the rank where it holds most
  std::vector<size_t> ranks;  // places, in order
  Bytes median, most;         // bytes that it holds on these
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
  Bytes least, median, most;  // peaks
  size_t least_rank = 0, most_rank = 0;
  std::vector<CategoryRange> categories;  // the largest median first
  Envelope envelope;
  std::vector<Outlier> outliers;  // the furthest first; peaks before categories before the rest
  bool has_enough = true;         // ranks for a median to say something
  // Those that ended badly and why ("exit code 1"), the first one by its host's clock first.
  std::vector<std::pair<Rank, std::string>> ended_badly;
  uint64_t expected = 0;                               // ranks that there should be; 0: not known
  std::vector<std::pair<uint64_t, uint64_t>> missing;  // first and last of each gap
  uint64_t missing_count = 0;
  std::vector<SharedFinding> findings;  // on the most ranks first, then by gain
  uint64_t findings_unknown = 0;        // ranks of which they are not known
  uint64_t findings_cut = 0;            // ranks whose summary has not all of them
  uint64_t incomplete = 0;              // ranks that lost data
  std::vector<Source> left_out;         // files, with `why`
  uint64_t from_columns = 0;            // files
  std::vector<std::string> remarks;     // one sentence each
};

// `version`: of this Tapelens; findings of another one's checks are not taken for its own. An error of kind
// nothing_compared if no file says anything of a rank.
trace::Result<Job> merge(std::vector<Source> sources, const Options& options, std::string_view version);

// Which ranks stand out; ranks, device_type and hosts are there already.
std::vector<Outlier> outliers_of(const Job& job);
inline constexpr size_t kFewestRanks = 5;  // a median of less says nothing

// "cuda" of "cuda:3"
std::string_view type_of(std::string_view device);

}  // namespace tapelens::ranks
