// Finds outlier ranks by the rule for steps (gui/models/steps_outstanding.cpp).
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analyzer/ranks/job.h"

namespace tapelens::ranks {

namespace {

constexpr double kFar = 5;             // standard deviations, estimated from the median distance
constexpr double kDeviation = 1.4826;  // standard deviation of a normal distribution, relative to the median distance
constexpr int64_t kExplains = 10;      // a reason explains at least 1/10 of the difference
constexpr double kMostHave = 0.9;      // share of ranks with equal step counts that makes another count an outlier

int64_t median_of(std::vector<int64_t> values) {  // the lower one of two
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// The bytes of each key on every rank. If a list was cut, a missing key holds between 0 and the bytes of the list's
// last entry. Differences use the smallest possible value.
class Keys {
 public:
  Keys(const Job& job, By by) : by_(by) {
    for (const Rank& rank : job.ranks) {
      const Sums& sums = of(rank);
      const int64_t most = sums.left_out > 0 && !sums.rows.empty() ? sums.rows.back().bytes.value : 0;
      at_most_.push_back(most);
      for (const Sum& sum : sums.rows) known_[sum.key].emplace_back(at_most_.size() - 1, sum.bytes.value);
    }
  }
  // The key that explains most of a difference; none if no key explains enough.
  std::optional<Reason> reason(const Rank& rank, int64_t difference) {
    std::optional<Reason> best;
    const Sums& here = of(rank);
    const int64_t cut = here.left_out > 0 && !here.rows.empty() ? here.rows.back().bytes.value : 0;
    std::map<std::string_view, int64_t> mine;
    for (const Sum& sum : here.rows) mine[sum.key] += sum.bytes.value;
    const auto consider = [&](const std::string& key, int64_t bytes, int64_t median) {
      const bool is_same_way = (bytes > median) == (difference > 0);
      const int64_t share = std::abs(bytes - median);
      if (!is_same_way || share < std::abs(difference) / kExplains || share == 0) return;
      if (best && share <= std::abs(best->difference().value)) return;
      best = Reason{by_, key, Bytes{bytes}, Bytes{median}};
    };
    if (difference > 0) {
      for (const Sum& sum : here.rows) consider(sum.key, mine.at(sum.key), medians(sum.key).most);
    } else {
      for (const auto& [key, values] : known_) {
        const auto at = mine.find(key);
        consider(key, at == mine.end() ? cut : at->second, medians(key).least);
      }
    }
    return best;
  }

 private:
  struct Medians {
    int64_t least, most;
  };
  const Sums& of(const Rank& rank) const { return rank.device().by[static_cast<size_t>(by_)]; }
  const Medians& medians(const std::string& key) {
    const auto [at, is_new] = medians_.try_emplace(key);
    if (!is_new) return at->second;
    std::vector<int64_t> least(at_most_.size(), 0), most = at_most_;
    for (const auto& [rank, bytes] : known_.at(key)) least[rank] = most[rank] = bytes;
    at->second = {median_of(std::move(least)), median_of(std::move(most))};
    return at->second;
  }

  By by_;
  std::vector<int64_t> at_most_;  // by rank: upper limit of missing keys
  std::map<std::string, std::vector<std::pair<size_t, int64_t>>> known_;
  std::map<std::string, Medians> medians_;
};

struct Spread {
  int64_t median = 0;
  double deviation = 0;  // 0: most ranks are equal
};

Spread spread_of(const std::vector<int64_t>& values) {
  Spread out;
  out.median = median_of(values);
  std::vector<int64_t> distances;
  for (const int64_t value : values) distances.push_back(std::abs(value - out.median));
  out.deviation = kDeviation * static_cast<double>(median_of(std::move(distances)));
  return out;
}

class Finder {
 public:
  explicit Finder(const Job& job) : job_(job) {
    for (size_t by = 0; by < kByNames.size(); ++by) keys_.emplace_back(job, static_cast<By>(by));
  }

  std::vector<Outlier> run() {
    std::vector<int64_t> values;
    for (const Rank& rank : job_.ranks) values.push_back(rank.device().peak.value);
    find(Outlier::Of::peak, "", values);
    for (const CategoryRange& category : job_.categories) {
      values.clear();
      for (const Rank& rank : job_.ranks) {
        int64_t bytes = 0;
        for (const Sum& sum : rank.device().by[static_cast<size_t>(By::category)].rows) {
          if (sum.key == category.category) bytes += sum.bytes.value;
        }
        values.push_back(bytes);
      }
      find(Outlier::Of::category, category.category, values);
    }
    find_reserved();
    find_steps();
    std::ranges::stable_sort(out_, [](const Outlier& a, const Outlier& b) {
      if (a.of != b.of) return a.of < b.of;
      return std::abs(a.here - a.median) > std::abs(b.here - b.median);
    });
    return std::move(out_);
  }

 private:
  void find(Outlier::Of of, const std::string& category, const std::vector<int64_t>& values) {
    const Spread spread = spread_of(values);
    const double far = std::max(kFar * spread.deviation, kLeastShare * static_cast<double>(job_.median.value));
    for (size_t rank = 0; rank < values.size(); ++rank) {
      const int64_t difference = values[rank] - spread.median;
      if (static_cast<double>(std::abs(difference)) <= far || known_.contains(rank)) continue;
      Outlier one{rank, of, category, values[rank], spread.median, {}, {}};
      if (spread.deviation > 0) one.z = static_cast<double>(difference) / spread.deviation;
      for (Keys& keys : keys_) {
        if (of == Outlier::Of::reserved) break;  // holders explain only allocated bytes
        if (auto reason = keys.reason(job_.ranks[rank], difference)) one.reasons.push_back(std::move(*reason));
      }
      out_.push_back(std::move(one));
    }
    for (const Outlier& one : out_) known_.insert(one.rank);  // does not report consequences of the peak again
  }

  void find_reserved() {
    std::vector<int64_t> values;
    for (const Rank& rank : job_.ranks) {
      if (!rank.device().reserved_peak) return;
      values.push_back(rank.device().reserved_peak->value);
    }
    find(Outlier::Of::reserved, "", values);
  }

  // Step counts have no useful deviation: all ranks have the same, unless one runs another program.
  void find_steps() {
    std::map<uint64_t, size_t> counts;
    for (const Rank& rank : job_.ranks) ++counts[rank.summary.steps];
    const auto most = std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; });
    if (static_cast<double>(most->second) < kMostHave * static_cast<double>(job_.ranks.size())) return;
    for (size_t rank = 0; rank < job_.ranks.size(); ++rank) {
      const uint64_t steps = job_.ranks[rank].summary.steps;
      if (steps == most->first) continue;
      out_.push_back(
          {rank, Outlier::Of::steps, "", static_cast<int64_t>(steps), static_cast<int64_t>(most->first), {}, {}});
    }
  }

  const Job& job_;
  std::vector<Keys> keys_;
  std::vector<Outlier> out_;
  std::set<size_t> known_;
};

}  // namespace

std::vector<Outlier> outliers_of(const Job& job) {
  if (job.ranks.size() < kFewestRanks) return {};
  return Finder(job).run();
}

Outlier larger_of_two(const Job& job) {
  Outlier out{job.most_rank, Outlier::Of::peak, "", job.most.value, job.least.value, {}, {}};
  if (job.most == job.least) return out;
  for (size_t by = 0; by < kByNames.size(); ++by) {  // the lower median of two values is the other rank's
    auto reason = Keys(job, static_cast<By>(by)).reason(job.ranks[job.most_rank], out.here - out.median);
    if (reason) out.reasons.push_back(std::move(*reason));
  }
  return out;
}

}  // namespace tapelens::ranks
