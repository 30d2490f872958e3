#include "analyzer/ranks/files.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <new>
#include <stdexcept>

#include "base/mutex.h"
#include "base/parallel.h"
#include "trace/recording.h"

namespace tapelens::ranks {

namespace {

namespace fs = std::filesystem;

bool knows_findings(const Summary& summary, std::string_view version) {
  return summary.tapelens == version &&
         std::ranges::all_of(summary.processes, [](const auto& process) { return process.findings.has_value(); });
}

// Removes the prefix "run.tapelens: ".
std::string without_name(std::string message, const std::string& file) {
  if (message.starts_with(file + ": ")) message.erase(0, file.size() + 2);
  return message;
}

// `columns`: locked while all columns of a recording are read, because only one recording fits into memory.
RankFile read_one(const std::string& file, const ReadOptions& reading, base::Mutex& columns) {
  RankFile out{.file = file, .summary = {}, .why = {}};
  try {
    const auto text = trace::read_summary(file);
    if (!text) {
      out.why = without_name(text.error().message, file);
      return out;
    }
    if (!text->empty()) {
      if (auto summary = read_summary(*text)) out.summary = std::move(*summary);
    }
    if (out.summary && (!reading.checks || knows_findings(*out.summary, reading.version))) return out;
    const base::MutexLock one_at_a_time(columns);
    const auto run = run::Run::open(file);
    if (!run) {
      out.summary.reset();
      out.why = without_name(run.error().message, file);
      return out;
    }
    // Ranks with only a summary have no events, so findings cannot be computed.
    if (out.summary && run->processes() < out.summary->processes.size()) return out;
    out.is_from_columns = !out.summary;
    if (reading.checks) {
      advise::Checks checks = reading.checks();
      out.summary = summarize(*run, &checks, reading.version);
    } else {
      out.summary = summarize(*run, nullptr, reading.version);
    }
  } catch (const std::bad_alloc&) {
    out.summary.reset();
    out.why = "not enough memory to read it";
  } catch (const std::length_error&) {
    out.summary.reset();
    out.why = "it asks for more memory than there can be";
  }
  return out;
}

}  // namespace

trace::Result<std::vector<std::string>> files_of(const std::vector<std::string>& given) {
  std::vector<std::string> out;
  for (const std::string& one : given) {
    std::error_code error;
    if (!fs::is_directory(one, error)) {
      out.push_back(one);  // its reader reports the error
      continue;
    }
    const size_t before = out.size();
    for (fs::recursive_directory_iterator entry(one, fs::directory_options::skip_permission_denied, error), end;
         !error && entry != end; entry.increment(error)) {
      if (entry->path().extension() == ".tapelens") out.push_back(entry->path().string());
    }
    if (error) return trace::Error{one + ": cannot be read: " + error.message()};
    if (out.size() == before) return trace::Error{one + ": the folder has no recording (*.tapelens)"};
    std::sort(out.begin() + static_cast<std::ptrdiff_t>(before), out.end());
  }
  return out;
}

bool is_of_a_rank(const std::string& file) {
  const auto text = trace::read_summary(file);
  if (!text || text->empty()) return false;
  const auto summary = read_summary(*text);
  return summary && std::ranges::any_of(summary->processes, [](const RankSummary& one) { return one.rank >= 0; });
}

std::vector<RankFile> read_all(const std::vector<std::string>& files, const ReadOptions& reading) {
  std::vector<RankFile> sources(files.size());
  std::atomic<bool> is_wanted{true};
  base::Mutex columns, telling;
  base::parallel_for(files.size(), base::kManyRows, [&](size_t at) {
    if (!is_wanted) return;
    sources[at] = read_one(files[at], reading, columns);
    if (!reading.progress) return;
    const base::MutexLock lock(telling);
    if (!reading.progress(static_cast<double>(at) / static_cast<double>(files.size()))) is_wanted = false;
  });
  return sources;
}

}  // namespace tapelens::ranks
