#include "analyzer/ranks/job.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analyzer/text/format.h"

namespace tapelens::ranks {

namespace {

using text::bytes_text;
using text::plural;

template <class Value>
Value median(std::vector<Value> values) {  // the lower one of two
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::string why_it_ended(const RankSummary& rank) {
  std::string why;
  if (rank.out_of_memory > 0) {
    why = "out of memory";
    if (const auto& last = rank.last_out_of_memory) {
      why += " on " + last->device + " in step " + std::to_string(last->step) + ": " + bytes_text(last->bytes) +
             " requested" + (last->op.empty() ? "" : " by " + last->op) +
             (last->module.empty() ? "" : " in " + last->module) + (last->source.empty() ? "" : ", " + last->source);
    }
    if (rank.out_of_memory > 1) why += " (" + plural(rank.out_of_memory, "time", "times") + ")";
  }
  const auto add = [&](const std::string& more) { why += (why.empty() ? "" : "; ") + more; };
  if (rank.exit_code.value_or(0) != 0) add("exit code " + std::to_string(*rank.exit_code));
  if (!rank.finished && !rank.running) add("it was killed, crashed or still ran when its recording was sealed");
  return why;
}

// The processes of all files that are compared; remarks explain the others.
std::vector<Rank> ranks_of(std::vector<RankFile>& sources, Job& job) {
  std::vector<Rank> all;
  std::set<std::string> commands, versions;
  for (RankFile& source : sources) {
    if (!source.summary) {
      job.left_out.push_back(source);
      continue;
    }
    if (source.is_from_columns) ++job.from_columns;
    commands.insert(source.summary->command);
    versions.insert(source.summary->torch_version);
    if (job.command.empty()) job.command = source.summary->command;
    if (job.torch_version.empty()) job.torch_version = source.summary->torch_version;
    if (job.simulated_gpu.empty()) job.simulated_gpu = source.summary->simulated_gpu;
    for (RankSummary& process : source.summary->processes) all.push_back({std::move(process), source.file});
  }
  if (commands.size() > 1) {
    job.remarks.push_back("These recordings are of " + std::to_string(commands.size()) +
                          " different commands: are they of one run?");
  }
  if (versions.size() > 1) {
    job.remarks.push_back("These recordings are of " + std::to_string(versions.size()) + " versions of PyTorch.");
  }
  return all;
}

// Sorts by rank. If a rank occurs more than once, keeps the process that started last.
void put_in_order(std::vector<Rank>& all, Job& job) {
  const bool has_ranks = std::ranges::any_of(all, [](const Rank& rank) { return rank.summary.rank >= 0; });
  if (has_ranks) {
    const size_t without = std::erase_if(all, [](const Rank& rank) { return rank.summary.rank < 0; });
    if (without > 0) {
      job.remarks.push_back(plural(without, "process has no rank and is", "processes have no rank and are") +
                            " not compared.");
    }
  }
  std::ranges::stable_sort(all, [](const Rank& a, const Rank& b) {
    return std::pair(a.summary.rank, a.summary.begin_ns) < std::pair(b.summary.rank, b.summary.begin_ns);
  });
  if (!has_ranks) return;
  std::vector<Rank> last;
  size_t earlier = 0;
  for (Rank& rank : all) {
    if (!last.empty() && last.back().summary.rank == rank.summary.rank) {
      ++earlier;
      last.back() = std::move(rank);
    } else {
      last.push_back(std::move(rank));
    }
  }
  if (earlier > 0) {
    job.remarks.push_back(plural(earlier, "recording is of a rank that was", "recordings are of ranks that were") +
                          " started again: of each rank the last one is compared.");
  }
  all = std::move(last);
}

void find_missing(const std::vector<Rank>& all, Job& job) {
  uint64_t next = 0;
  std::set<uint32_t> sizes;
  for (const Rank& rank : all) {
    if (rank.summary.rank < 0) return;  // no process has a rank
    const auto number = static_cast<uint64_t>(rank.summary.rank);
    if (number > next) job.missing.emplace_back(next, number - 1);
    next = number + 1;
    job.expected = std::max<uint64_t>({job.expected, rank.summary.world_size, next});
    if (rank.summary.world_size > 0) sizes.insert(rank.summary.world_size);
  }
  if (sizes.size() > 1) {
    job.remarks.push_back("These ranks say different numbers of ranks, " + std::to_string(*sizes.begin()) + " to " +
                          std::to_string(*sizes.rbegin()) + ": are they of one run?");
  }
  if (next < job.expected) job.missing.emplace_back(next, job.expected - 1);
  for (const auto& [first, last] : job.missing) job.missing_count += last - first + 1;
}

// Chooses the type of device to compare, and each rank's device of that type. Leaves out ranks without one.
trace::Status choose_device(const Options& options, std::vector<Rank>& all, Job& job) {
  std::map<std::string, std::vector<run::Precedence>> peaks;  // by type, the largest peak of each rank
  for (const Rank& rank : all) {
    std::map<std::string, run::Precedence> here;
    for (const DeviceSummary& device : rank.summary.devices) {
      run::Precedence& most = here[std::string(type_of(device.device))];
      most = std::max(most, device.precedence());
    }
    for (const auto& [type, most] : here) peaks[type].push_back(most);
  }
  std::string names;
  for (const auto& [type, of] : peaks) names += (names.empty() ? "" : ", ") + type;
  job.device_type = options.device;
  if (job.device_type.empty()) {
    std::optional<run::Precedence> largest;
    for (const auto& [type, of] : peaks) {
      // If only some ranks use a type, the others count as 0.
      std::vector<run::Precedence> padded = of;
      padded.resize(all.size());
      std::ranges::sort(padded);
      const run::Precedence middle = padded[padded.size() / 2];
      if (largest && middle <= *largest) continue;
      largest = middle;
      job.device_type = type;
    }
  }
  if (!peaks.contains(job.device_type)) {
    return trace::Error{peaks.empty() ? "these recordings hold no memory of any device"
                                      : "no rank allocated on '" + job.device_type + "': there is " + names,
                        peaks.empty() ? trace::ErrorKind::nothing_recorded : trace::ErrorKind::usage};
  }
  size_t without = 0;
  for (Rank& rank : all) {
    const auto& devices = rank.summary.devices;
    const auto at = std::ranges::find(devices, job.device_type, [](const auto& d) { return type_of(d.device); });
    if (at == devices.end()) {
      ++without;
      continue;
    }
    rank.on = static_cast<size_t>(at - devices.begin());
    job.ranks.push_back(std::move(rank));
  }
  if (without > 0) {
    job.remarks.push_back(plural(without, "rank", "ranks") + " allocated nothing on " + job.device_type +
                          " and is not compared.");
  }
  return trace::Done{};
}

Bytes bytes_of(const Sums& sums, const std::string& key) {
  const auto at = std::ranges::find(sums.rows, key, &Sum::key);
  return at == sums.rows.end() ? Bytes{} : at->bytes;
}

void find_ranges(Job& job) {
  std::vector<int64_t> peaks;
  std::map<std::string, std::vector<int64_t>> categories;
  for (size_t i = 0; i < job.ranks.size(); ++i) {
    const DeviceSummary& device = job.ranks[i].device();
    peaks.push_back(device.peak.value);
    if (device.peak < job.ranks[job.least_rank].device().peak) job.least_rank = i;
    if (device.peak > job.ranks[job.most_rank].device().peak) job.most_rank = i;
    for (const Sum& sum : device.by[static_cast<size_t>(By::category)].rows) categories[sum.key];
  }
  job.least = job.ranks[job.least_rank].device().peak;
  job.most = job.ranks[job.most_rank].device().peak;
  job.median = Bytes{median(peaks)};
  for (auto& [category, values] : categories) {
    for (const Rank& rank : job.ranks) {
      values.push_back(bytes_of(rank.device().by[static_cast<size_t>(By::category)], category).value);
    }
    const auto [least, most] = std::ranges::minmax(values);
    job.categories.push_back({category, Bytes{least}, Bytes{median(values)}, Bytes{most}});
  }
  std::ranges::stable_sort(job.categories, std::ranges::greater(), &CategoryRange::median);
  std::set<std::string> hosts;
  std::vector<const Curve*> curves;
  for (const Rank& rank : job.ranks) {
    if (!rank.summary.host.empty()) hosts.insert(rank.summary.host);
    curves.push_back(&rank.device().curve);
  }
  job.hosts.assign(hosts.begin(), hosts.end());
  job.envelope = envelope_of(curves);
}

void find_findings(Job& job) {
  struct Shared {
    SharedFinding out;
    std::vector<int64_t> bytes;
  };
  std::map<std::string, Shared> by_id;
  for (size_t i = 0; i < job.ranks.size(); ++i) {
    const RankSummary& rank = job.ranks[i].summary;
    if (!rank.findings) {
      ++job.findings_unknown;
      continue;
    }
    if (rank.findings_left_out > 0) ++job.findings_cut;
    for (const FindingSummary& finding : *rank.findings) {
      Shared& shared = by_id[finding.id];
      if (shared.out.ranks.empty() || shared.out.ranks.back() != i) {
        shared.out.ranks.push_back(i);
        shared.bytes.push_back(finding.bytes.value);
      } else {
        shared.bytes.back() = std::max(shared.bytes.back(), finding.bytes.value);
      }
      if (shared.out.ranks.size() == 1 || finding.bytes > shared.out.most) shared.out.finding = finding;
      shared.out.most = std::max(shared.out.most, finding.bytes);
    }
  }
  for (auto& [id, shared] : by_id) {
    shared.out.median = Bytes{median(shared.bytes)};
    job.findings.push_back(std::move(shared.out));
  }
  std::ranges::stable_sort(job.findings, [](const SharedFinding& a, const SharedFinding& b) {
    return std::tuple(a.ranks.size(), a.finding.gain, a.most) > std::tuple(b.ranks.size(), b.finding.gain, b.most);
  });
}

}  // namespace

std::string Rank::name() const {
  return summary.rank >= 0 ? "rank " + std::to_string(summary.rank) : "process " + std::to_string(summary.pid);
}

std::string_view type_of(std::string_view device) { return device.substr(0, device.find(':')); }

trace::Result<Job> merge(std::vector<RankFile> sources, const Options& options, std::string_view version) {
  Job job;
  for (RankFile& source : sources) {
    if (!source.summary || source.summary->tapelens == version) continue;
    for (RankSummary& process : source.summary->processes) process.findings.reset();
  }
  std::vector<Rank> all = ranks_of(sources, job);
  if (all.empty()) {
    return trace::Error{job.left_out.empty() ? "these recordings are of no process that ran an operator"
                                             : job.left_out.front().file + ": " + job.left_out.front().why,
                        job.left_out.empty() ? trace::ErrorKind::nothing_recorded : trace::ErrorKind::unreadable};
  }
  for (const Rank& rank : all) {
    if (!rank.summary.ended_well()) job.ended_badly.emplace_back(rank, why_it_ended(rank.summary));
    job.incomplete += rank.summary.lost.empty() ? 0 : 1;
  }
  std::ranges::stable_sort(job.ended_badly, {}, [](const auto& one) { return one.first.summary.end_ns; });
  put_in_order(all, job);
  find_missing(all, job);
  if (const trace::Status chosen = choose_device(options, all, job); !chosen) return chosen.error();
  find_ranges(job);
  find_findings(job);
  job.has_enough = job.ranks.size() >= kFewestRanks;
  job.outliers = outliers_of(job);
  if (job.ranks.size() == 2) job.larger_of_two = larger_of_two(job);
  return job;
}

}  // namespace tapelens::ranks
