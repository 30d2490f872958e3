#include "cli/tally.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>

#include "analyzer/text/format.h"
#include "policy/catalog.h"
#include "policy/level.h"
#include "policy/tally_file.h"
#include "trace/regular_file.h"

namespace tapelens::cli {
namespace {

namespace fs = std::filesystem;

// The writer may still be running or may have been killed; only complete values count.
void take_row(const policy::TallyRow& from, TallySums& tally) {
  const auto text = [](const auto& chars) { return std::string(chars, strnlen(chars, sizeof(chars))); };
  TallyRow row;
  row.rewrite = text(from.rewrite);
  row.reason = text(from.reason);
  row.level = static_cast<int>(from.level);
  row.sites = from.sites.load();
  row.times = from.times.load();
  row.bytes = from.bytes.load();
  row.kept = from.kept.load();
  std::vector<TallyRow>& rows = row.reason.empty() ? tally.applied : tally.skipped;
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

void take_file(const fs::path& path, TallySums& tally) {
  const auto read = std::make_unique<policy::TallyFile>();
  const auto bytes = trace::read_regular_file(path.string(), sizeof(*read));
  if (!bytes || bytes->size() != sizeof(*read)) return;
  std::memcpy(static_cast<void*>(read.get()), bytes->data(), sizeof(*read));
  if (read->magic != policy::kTallyMagic) return;
  ++tally.processes;
  const size_t rows = std::min<size_t>(read->rows.load(), policy::kTallyRows);
  for (size_t i = 0; i < rows; ++i) take_row(read->row[i], tally);
  tally.left_out += read->left_out.load();
  tally.host_bytes += read->host_bytes.load();
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

std::string bytes_text(uint64_t bytes) { return text::bytes_text(trace::Bytes{static_cast<int64_t>(bytes)}); }

// "86 saves at 17 sites, 78.4 MiB kept as 4.1 MiB over the whole run, and 3 optimizer steps (optimizer-temporaries)".
std::string applied_text(const std::vector<TallyRow>& rows) {
  std::vector<TallyRow> saves;
  std::string others;
  for (const TallyRow& row : rows) {
    const std::string unit(policy::unit_of(row.rewrite));
    if (unit == policy::kSave) {
      saves.push_back(row);
    } else if (row.times > 0) {
      others += (others.empty() ? "" : ", ") + text::plural(row.times, unit, unit + "s") + " (" + row.rewrite + ")";
    }
  }
  const TallyRow all = sum(saves);
  if (all.times == 0) return others;
  return text::plural(all.times, "save", "saves") + " at " + text::plural(all.sites, "site", "sites") + ", " +
         bytes_text(all.bytes) + " kept as " + bytes_text(all.kept) + " over the whole run" +
         (others.empty() ? "" : ", and " + others);
}

}  // namespace

TallySums read_tally(const std::string& folder) {
  TallySums tally;
  std::error_code error;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) files.push_back(entry.path());
  std::ranges::sort(files);
  for (const fs::path& path : files) take_file(path, tally);
  tally.why_not = read_explanation(folder);
  std::ranges::sort(tally.skipped, std::ranges::greater(), &TallyRow::sites);
  return tally;
}

std::string describe(const TallySums& tally) {
  std::string text = "nothing was rewritten";
  const TallyRow all = sum(tally.applied);
  if (all.times > 0) text = "rewrote " + applied_text(tally.applied);
  if (tally.host_bytes > 0) {
    uint64_t offloaded = 0;
    for (const TallyRow& row : tally.applied)
      if (row.level == static_cast<int>(policy::Level::offloaded)) offloaded += row.bytes;
    text += ", " + bytes_text(offloaded) + " of it offloaded, at most " + bytes_text(tally.host_bytes) +
            " of host memory at once";
  }
  if (tally.why_not && !tally.why_not->was_said) {
    text += (all.times > 0 ? "; a process was not rewritten: " : ": ") + tally.why_not->why;
  }
  if (tally.left_out > 0) text += ", and " + text::count_text(tally.left_out) + " times that were not counted apart";
  if (tally.skipped.empty()) return text;
  text += "; skipped " + text::plural(sum(tally.skipped).sites, "site", "sites") + ": ";
  constexpr size_t kMostReasons = 3;  // in a line; the report of a recording has all
  for (size_t i = 0; i < std::min(tally.skipped.size(), kMostReasons); ++i) {
    const TallyRow& row = tally.skipped[i];
    text += (i == 0 ? "" : ", ") + row.reason + " (" + row.rewrite + ", " + text::count_text(row.sites) + ")";
  }
  if (tally.skipped.size() > kMostReasons) {
    text += " and for " + text::plural(tally.skipped.size() - kMostReasons, "more reason", "more reasons");
  }
  return text;
}

}  // namespace tapelens::cli
