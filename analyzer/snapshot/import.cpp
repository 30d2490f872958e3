#include "analyzer/snapshot/import.h"

#include <memory>

#include "analyzer/snapshot/history.h"
#include "analyzer/snapshot/process_writer.h"
#include "trace/sealed_writer.h"

namespace tapelens::snapshot {

namespace table = trace::table;
using trace::Loss;

namespace {

constexpr double kReading = 0.8;  // fraction of the time

struct Facts {
  uint64_t before = 0, dropped = 0, unmatched = 0;
  bool has_history = false;
};

Facts facts_of(const std::vector<DeviceHistory>& histories) {
  Facts facts;
  for (const DeviceHistory& history : histories) {
    facts.has_history |= history.has_history;
    if (history.has_history) facts.before += history.before.size();
    facts.dropped += history.dropped;
    facts.unmatched += history.unmatched;
  }
  return facts;
}

}  // namespace

trace::Result<trace::SealSummary> import_snapshot(const ImportOptions& options) {
  trace::SealedWriter writer;
  if (trace::Status status = writer.open(options.output, options.mode, options.name); !status) return status.error();
  trace::SharedTables shared(writer);
  const auto part = [&](double from, double size) -> std::function<void(double)> {
    if (!options.progress) return {};
    return [&options, from, size](double fraction) { options.progress(from + size * fraction); };
  };
  const auto snapshot = read_snapshot(options.input, shared, part(0, kReading));
  if (!snapshot) return snapshot.error();
  const auto all = histories(*snapshot);
  if (!all) return trace::Error{options.input + ": " + all.error().message + ": no snapshot of PyTorch says that"};
  const trace::Error nothing{options.input +
                             ": holds no memory of any device: call torch.cuda.memory._record_memory_history() "
                             "before the program allocates, and _dump_snapshot() while it still runs"};
  if (all->empty()) return nothing;

  const auto tables = std::make_unique<trace::ProcessSinks>(writer, 0);
  ProcessWriter process(*snapshot, *all, *tables, shared);
  process.run(part(kReading, 1 - kReading));
  if (process.peaks().empty()) return nothing;  // a report has nothing to say of it
  if (!tables->sums_fit()) {
    return trace::Error{options.input +
                        ": its sizes add up to more than 2^63 bytes, so the file is damaged: write it again with "
                        "torch.cuda.memory._dump_snapshot"};
  }
  const Facts facts = facts_of(*all);
  const auto inform = [&](std::string_view key, std::string_view value) {
    tables->push<table::Information>({.key = shared.string(key), .value = shared.string(value)});
  };
  inform("imported_from", "a memory snapshot of PyTorch");
  if (!facts.has_history) inform("imported_without_history", "1");
  if (facts.before > 0) inform("imported_older_allocations", std::to_string(facts.before));
  if (process.annotations_of_tensors() > 0)
    inform("imported_annotations_left_out", std::to_string(process.annotations_of_tensors()));
  inform("imported_in_order_until", std::to_string(process.ordered_until().ns));
  if (!snapshot->settings.empty()) inform("cuda_allocator_settings", snapshot->settings);

  trace::SealSummary summary;
  const auto count_lost = [&](Loss kind, uint64_t count) {
    if (count == 0) return;
    tables->push<table::Losses>({.kind = kind, .count = count, .since = {}});
    summary.losses.push_back({kind, count});
  };
  count_lost(Loss::truncated_text, snapshot->cut_stacks);
  count_lost(Loss::unmatched_event, facts.unmatched);
  count_lost(Loss::dropped_history, facts.dropped);
  count_lost(Loss::unknown_action, process.unknown_actions());
  tables->flush();
  shared.flush();

  summary.events = snapshot->events.size();
  summary.processes.push_back({0, -1, process.peaks(), process.out_of_memory(), 0});
  trace::ProcessSummary known;
  known.finished = true;  // as far as the snapshot is concerned
  known.wall_ns = static_cast<uint64_t>(process.begin_us()) * 1000;
  if (trace::Status status = writer.finish({}, process.last().ns, summary.events, {known}, options.summarize); !status)
    return status.error();
  summary.file_bytes = writer.bytes();
  return summary;
}

}  // namespace tapelens::snapshot
