#include "cli/sealing.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <filesystem>

namespace tapelens::cli {

namespace {

namespace fs = std::filesystem;

constexpr int32_t kMostRanks = 1 << 24;  // limit of a list, because a range of all numbers would fill the memory

std::optional<int32_t> number_of(std::string_view text) {
  int32_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0 || number > kMostRanks)
    return std::nullopt;
  return number;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == 0) return "host";
  std::string text = name.data();
  std::ranges::replace(text, '/', '-');
  return text;
}

// Whether the path contains one of these patterns.
bool has_one_of(std::string_view output, std::string_view letters) {
  for (size_t at = output.find('%'); at != std::string_view::npos && at + 1 < output.size();
       at = output.find('%', at + 2)) {
    if (letters.find(output[at + 1]) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

uint64_t monotonic_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

std::optional<RankList> parse_ranks(std::string_view text) {
  RankList out;
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    const size_t dash = part.find('-');
    const auto first = number_of(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number_of(part.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    for (int32_t rank = *first; rank <= *last; ++rank) out.insert(rank);
    if (comma == text.size()) return out;
    text.remove_prefix(comma + 1);
  }
}

bool has_pattern(std::string_view output) { return has_one_of(output, "hrp%"); }
bool has_rank(std::string_view pattern) { return has_one_of(pattern, "r"); }

std::string rank_of_this_process() {
  for (const char* variable : {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    if (const char* value = getenv(variable)) {
      if (const auto rank = number_of(value)) return std::to_string(*rank);
    }
  }
  return {};
}

trace::Result<std::string> expand_output(const std::string& pattern, const std::string& rank) {
  std::string out;
  for (size_t at = 0; at < pattern.size(); ++at) {
    const char next = pattern[at] == '%' && at + 1 < pattern.size() ? pattern[at + 1] : '\0';
    switch (next) {
      case 'h':
        out += host_name();
        break;
      case 'p':
        out += std::to_string(getpid());
        break;
      case '%':
        out += '%';
        break;
      case 'r':
        if (!rank.empty()) {
          out += rank;
          break;
        }
        return trace::Error{
            "-o " + pattern +
                ": no rank is known here: put `tapelens record` behind the launcher, as in `torchrun --no-python ... "
                "tapelens record -o " +
                pattern + " -- python train.py`, or leave %r out",
            trace::ErrorKind::usage};
      default:
        out += pattern[at];
        continue;
    }
    ++at;
  }
  return out;
}

trace::Result<trace::SealSummary> seal_with_summary(trace::SealOptions options, const std::optional<RankList>& ranks) {
  options.summarize = summarize_apart;
  if (!ranks) return trace::seal(options);
  // Seals all ranks first, because the summary is of all ranks.
  const std::string output = options.output, whole = options.directory + "/whole.tapelens";
  std::string summary;
  options.output = whole;
  options.summarize = [&](const std::string& file) { return summary = summarize_apart(file); };
  auto sealed = trace::seal(options);
  std::error_code ignored;
  if (!sealed || sealed->processes.empty()) {
    fs::remove(whole, ignored);
    return sealed;
  }
  const bool is_all =
      std::ranges::all_of(sealed->processes, [&](const auto& process) { return ranks->contains(process.rank); });
  options.output = output;
  options.summarize = [&](const std::string&) { return summary; };
  if (!is_all && !summary.empty()) options.ranks = ranks;
  fs::remove(whole, ignored);
  const auto again = trace::seal(options);
  if (!again) return again.error();
  sealed->file_bytes = again->file_bytes;
  return sealed;
}

trace::Result<trace::SealSummary> seal_into(trace::OutputOptions output, trace::SealOptions options,
                                            const std::optional<RankList>& ranks, bool has_summary) {
  options.mode = output.mode;
  auto file = trace::Output::open(std::move(output));
  if (!file) return file.error();
  options.output = file->unfinished_path();
  options.name = file->name();
  auto sealed = has_summary ? seal_with_summary(options, ranks) : trace::seal(options);
  if (!sealed || sealed->processes.empty()) return sealed;
  if (const auto done = file->finish(); !done) return done.error();
  return sealed;
}

}  // namespace tapelens::cli
