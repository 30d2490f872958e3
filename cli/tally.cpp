#include "cli/tally.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "analyzer/report/format.h"

namespace tapelens::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> parts(1);
  for (const char c : line) {
    if (c == '\t') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

template <class Number>
bool read(const std::string& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// applied REWRITE LEVEL SITES TIMES BYTES KEPT, or skipped REWRITE LEVEL SITES TIMES BYTES REASON
void take_line(const std::string& line, Tally& tally) {
  const std::vector<std::string> parts = split(line);
  if (parts.size() != 7) return;
  TallyRow row;
  row.rewrite = parts[1];
  const bool numbers =
      read(parts[2], row.level) && read(parts[3], row.sites) && read(parts[4], row.times) && read(parts[5], row.bytes);
  const bool was_applied = parts[0] == "applied" && read(parts[6], row.kept);
  if (!numbers || (!was_applied && parts[0] != "skipped")) return;
  if (!was_applied) row.reason = parts[6];
  std::vector<TallyRow>& rows = was_applied ? tally.applied : tally.skipped;
  const auto same = std::ranges::find_if(
      rows, [&](const TallyRow& other) { return other.rewrite == row.rewrite && other.reason == row.reason; });
  if (same == rows.end()) {
    rows.push_back(std::move(row));
    return;
  }
  same->sites += row.sites;
  same->times += row.times;
  same->bytes += row.bytes;
  same->kept += row.kept;
}

TallyRow sum(const std::vector<TallyRow>& rows) {
  TallyRow total;
  for (const TallyRow& row : rows) {
    total.sites += row.sites;
    total.times += row.times;
    total.bytes += row.bytes;
    total.kept += row.kept;
  }
  return total;
}

std::string bytes_text(uint64_t bytes) { return report::bytes_text(trace::Bytes{static_cast<int64_t>(bytes)}); }

}  // namespace

Tally read_tally(const std::string& folder) {
  Tally tally;
  std::error_code error;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) files.push_back(entry.path());
  std::ranges::sort(files);
  for (const fs::path& path : files) {
    std::ifstream file(path);
    ++tally.processes;
    for (std::string line; std::getline(file, line);) take_line(line, tally);
  }
  std::ranges::sort(tally.skipped, std::ranges::greater(), &TallyRow::sites);
  return tally;
}

std::string describe(const Tally& tally) {
  std::string text = "nothing was rewritten";
  if (const TallyRow all = sum(tally.applied); all.times > 0) {
    text = "rewrote " + report::plural(all.times, "save", "saves") + " at " +
           report::plural(all.sites, "site", "sites") + ", " + bytes_text(all.bytes) + " kept as " +
           bytes_text(all.kept) + " over the whole run";
  }
  if (tally.skipped.empty()) return text;
  text += "; skipped " + report::plural(sum(tally.skipped).sites, "site", "sites") + ": ";
  constexpr size_t kMostReasons = 3;  // of a line; the report of a recording has them all
  for (size_t i = 0; i < std::min(tally.skipped.size(), kMostReasons); ++i) {
    const TallyRow& row = tally.skipped[i];
    text += (i == 0 ? "" : ", ") + row.reason + " (" + row.rewrite + ", " + report::count_text(row.sites) + ")";
  }
  if (tally.skipped.size() > kMostReasons) {
    text += " and for " + report::plural(tally.skipped.size() - kMostReasons, "more reason", "more reasons");
  }
  return text;
}

}  // namespace tapelens::cli
