// See seal.h. Opens the spools of a folder, merges their interned records, and seals the events of each process.
#include "trace/seal.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "trace/local_ids.h"
#include "trace/process_sealer.h"
#include "trace/regular_file.h"
#include "trace/sealed_writer.h"
#include "trace/shared_tables.h"
#include "trace/spool_reader.h"
#include "trace/spool_writer.h"
#include "trace/table_sink.h"
#include "trace/ticks.h"

namespace tapelens::trace {
namespace {

struct Spool {
  SpoolReader reader;
  int32_t rank;
};

int32_t rank_of(const SpoolReader& reader) {
  const auto text = information_value(reader, "rank");
  int32_t rank = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  return error == std::errc() && end == text.data() + text.size() && rank >= 0 ? rank : -1;
}

// A process that was killed while it created its spool leaves a spool without a header, and recorded nothing.
bool is_begun(const std::string& path) {
  const auto file = RegularFile::open(path);
  uint64_t magic = 0;
  return !file || pread(file->descriptor(), &magic, sizeof(magic), 0) < 0 || magic != 0;
}

// Reports the progress to the caller, at most every 50 ms.
class Progress {
 public:
  Progress(const SealOptions& options, uint64_t events) : report_(options.progress), events_(events) {}
  void event() {
    if ((++done_ & 0xfff) != 0 || !report_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(50)) return;
    last_ = now;
    report_(static_cast<double>(done_) / static_cast<double>(std::max<uint64_t>(events_, 1)));
  }

 private:
  const std::function<void(double)>& report_;
  uint64_t events_, done_ = 0;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// The losses of a process, by kind.
class Losses {
 public:
  void add(Loss kind, uint64_t count, Time since) {
    if (count == 0) return;
    auto [at, is_new] = by_kind_.try_emplace(kind, Lost{0, since});
    at->second.count += count;
    at->second.since = std::min(at->second.since, since);
  }
  struct Lost {
    uint64_t count;
    Time since;
  };
  const std::map<Loss, Lost>& by_kind() const { return by_kind_; }

 private:
  std::map<Loss, Lost> by_kind_;
};

Time time_of(TickClock& clock, uint64_t ticks) { return {static_cast<int64_t>(clock.ns(ticks))}; }

Losses losses_of(const SpoolReader& spool, const ProcessSealer& sealer, TickClock& clock) {
  Losses losses;
  const SpoolFacts& facts = spool.facts();
  for (uint8_t kind = 0; kind < facts.lost.size(); ++kind)
    losses.add(Loss{kind}, facts.lost[kind], time_of(clock, facts.lost_since_ticks[kind]));
  for (const auto* record : spool.interned(RecordKind::loss)) {
    const auto& loss = *reinterpret_cast<const LossRecord*>(record);
    losses.add(Loss{record->flags}, loss.count, time_of(clock, loss.ticks));
  }
  losses.add(Loss::forked_child, facts.forked_children, {});
  losses.add(Loss::torn_block, spool.torn_blocks(), {});
  losses.add(Loss::unknown_record, spool.unknown_records(), {});
  losses.add(Loss::unmatched_event, sealer.unmatched_events().count, sealer.unmatched_events().since);
  losses.add(Loss::unattributed_save, sealer.unattributed_saves().count, sealer.unattributed_saves().since);
  if (!facts.finished) losses.add(Loss::truncated_spool, 1, sealer.last());
  return losses;
}

// Lanes past the largest thread id are on thread 0 (unknown).
std::vector<ThreadId> write_threads(const SpoolReader& spool, ProcessSinks& tables) {
  std::vector<ThreadId> rows;
  for (const auto& lane : spool.lanes())
    rows.push_back(rows.size() < UINT16_MAX ? tables.push<table::Threads>({.os_id = lane.os_thread}) : ThreadId{});
  return rows;
}

// Seals one process. Adds its losses (plus `torn` blocks that its spool does not count) and the time of its last event.
ProcessSeal seal_process(const Spool& spool, uint32_t process, SealedWriter& writer, SharedTables& shared,
                         Progress& progress, uint64_t torn, std::map<Loss, uint64_t>& lost, Time& last) {
  const SpoolFacts& facts = spool.reader.facts();
  const uint64_t now_ticks = ticks_now();
  TickClock clock(spool.reader.anchors(), facts.epoch_ns, {now_ticks, monotonic_ns()});
  Interned ids = intern_all(spool.reader, shared);
  add_older_steps(spool.reader, shared, clock, ids);
  const auto tables = std::make_unique<ProcessSinks>(writer, process);
  for (const auto& row : ids.information) tables->push<table::Information>(row);
  for (const auto& row : ids.sources) tables->push<table::Sources>(row);
  const auto sealer = std::make_unique<ProcessSealer>(*tables, ids, write_threads(spool.reader, *tables));
  spool.reader.for_each_event(
      [&](const RecordHeader* record, size_t lane, uint64_t ticks) {
        sealer->event(record, lane, time_of(clock, ticks));
        progress.event();
      },
      [&](size_t lane) { sealer->gap(lane); });
  sealer->finish();
  Losses losses = losses_of(spool.reader, *sealer, clock);
  losses.add(Loss::torn_block, torn, {});
  for (const auto& [kind, loss] : losses.by_kind()) {
    tables->push<table::Losses>({.kind = kind, .count = loss.count, .since = loss.since});
    lost[kind] += loss.count;
  }
  tables->flush();
  last = std::max(last, sealer->last());

  ProcessSeal seal{facts.pid, spool.rank, {}};
  for (const auto& peak : sealer->peaks())
    seal.devices.push_back({std::string(device_name(spool.reader, ids, peak.device)), peak.bytes});
  seal.out_of_memory = sealer->out_of_memory();
  seal.steps_left_out = spool.reader.older() ? spool.reader.older()->steps : 0;
  return seal;
}

}  // namespace

int32_t rank_of_spool(const std::string& path) {
  const auto reader = SpoolReader::open(path);
  return reader ? rank_of(*reader) : -1;
}

Result<SealSummary> seal(const SealOptions& options) {
  std::vector<Spool> spools;
  SealSummary summary;
  std::vector<Error> unreadable;
  std::string command = options.command;
  bool has_others = false;  // spools of ranks that are left out
  std::error_code error;
  for (std::filesystem::directory_iterator entry(options.directory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() != ".spool") continue;
    if (!is_begun(entry->path().string())) continue;
    auto reader = SpoolReader::open(entry->path().string());
    if (!reader) {
      unreadable.push_back(reader.error());
      continue;
    }
    summary.spool_bytes += reader->file_bytes();
    // With --marked, or attached and without a step since, a process may have recorded only memory; the report says so.
    const bool may_lack_operators =
        !information_value(*reader, "marked").empty() || !information_value(*reader, "attached").empty();
    if (reader->operators() == 0 && !may_lack_operators) continue;
    const int32_t rank = rank_of(*reader);
    if (options.ranks && !options.ranks->contains(rank)) {
      has_others = true;
      if (command.empty()) command = as_utf8(information_value(*reader, "command"));
      continue;
    }
    summary.events += reader->events();
    spools.push_back({std::move(*reader), rank});
  }
  if (error)
    return Error{options.directory + ": cannot be read: " + error.message() +
                 ": give the folder that holds the spools"};
  if (spools.empty() && !unreadable.empty()) return unreadable.front();
  if (spools.empty() && !has_others) return summary;
  std::vector<const Spool*> order;
  for (const Spool& spool : spools) order.push_back(&spool);
  std::sort(order.begin(), order.end(), [](const Spool* a, const Spool* b) {
    const auto key = [](const Spool* s) {
      return std::tuple(s->rank, s->reader.facts().wall_ns, s->reader.facts().pid);
    };
    return key(a) < key(b);
  });

  SealedWriter writer;
  if (Status status = writer.open(options.output, options.mode, options.name); !status) return status.error();
  SharedTables shared(writer);
  Progress progress(options, summary.events);
  std::vector<ProcessSummary> processes;
  std::map<Loss, uint64_t> lost;
  Time last;
  uint64_t torn = unreadable.size();  // spools that are torn as a whole; they count for the first process
  for (const Spool* spool : order) {
    const SpoolFacts& facts = spool->reader.facts();
    summary.processes.push_back(seal_process(*spool, static_cast<uint32_t>(processes.size()), writer, shared, progress,
                                             std::exchange(torn, 0), lost, last));
    const bool is_running = !facts.finished && std::ranges::find(options.running, facts.pid) != options.running.end();
    processes.push_back(
        {facts.pid, facts.parent_pid, spool->rank, facts.finished, facts.wall_ns, facts.exit_code, is_running});
  }
  shared.flush();
  if (options.command.empty() && !order.empty()) {
    command = as_utf8(information_value(order.front()->reader, "command"));
  }
  const int64_t duration = options.duration_ns > 0 ? options.duration_ns : last.ns;
  if (Status status = writer.finish(command, duration, summary.events, processes, options.summarize); !status)
    return status.error();
  for (const auto& [kind, count] : lost) summary.losses.push_back({kind, count});
  summary.file_bytes = writer.bytes();
  return summary;
}

}  // namespace tapelens::trace
