// See ring.h.
#include "trace/ring.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "trace/address_book.h"
#include "trace/older_writer.h"
#include "trace/short_form.h"
#include "trace/spool_reader.h"
#include "trace/step_borders.h"
#include "trace/still_needed.h"

namespace tapelens::trace {
namespace {

using Reached = SpoolReader::Reached;

// Live bytes of the allocators, by device.
class LiveBytes {
 public:
  // Returns the bytes on the event's device.
  uint64_t event(const RecordHeader* record) {
    const uint8_t device = record->flags;
    if (record->kind == RecordKind::free) book_.free(as<FreeRecord>(record));
    if (record->kind == RecordKind::allocation) {
      const auto& made = as<AllocationRecord>(record);
      book_.allocation(made.address, made.bytes, device, [] { return Nothing{}; });
      return book_.devices()[device].live;
    }
    if (record->kind == RecordKind::device_allocation) {
      book_.device_allocation(as<DeviceAllocationRecord>(record), device, [](bool) { return Nothing{}; });
      return book_.devices()[device].live;
    }
    return 0;
  }

 private:
  struct Nothing {};
  using Book = AddressBook<LiveBytes, Nothing, Nothing>;
  friend Book;
  void unmatched() {}
  void freed(Nothing) {}
  void freed_unseen(Nothing, uint64_t, uint8_t) {}
  void died_unseen(Nothing, uint64_t) {}
  void peaked(uint8_t, uint64_t) {}

  Book book_{*this};
};

// The events of the steps to remove.
class OlderSteps {
 public:
  OlderSteps(const SpoolReader& spool, KeepSteps keep) : spool_(spool), reached_(spool.lanes().size()) {
    const uint32_t optimizer = spool.older() ? spool.older()->optimizer : 0;
    StepBorders borders(program_step_of(spool), optimizer);
    LiveBytes live;
    std::vector<uint64_t> ends;  // indices of the events that are borders
    uint64_t number = 0;
    spool.for_each_event(
        [&](const RecordHeader* record, size_t lane, uint64_t ticks) {
          if (borders.event(record, lane)) {
            if (borders.starts_anew()) ends.clear();
            ends.push_back(number);
          }
          if (keep.when != 0 && !exceeded_ && live.event(record) > keep.when) exceeded_ = ends.size();
          if (record->kind == RecordKind::out_of_memory) {
            failed_at_ = ticks;
            if (ticks > keep.failed_after && !failed_) failed_ = ends.size();
          }
          ++number;
        },
        [&](size_t lane) { borders.gap(lane); });
    optimizer_ = borders.optimizer();
    ended_ = ends.size();
    // At most the steps that ended: the first tapelens.step() of a program cancels earlier ones.
    const uint64_t until = std::min({ended_, exceeded_.value_or(ended_), failed_.value_or(ended_)});
    if (until <= keep.last) return;
    count_ = until - keep.last;
    follow(ends[count_ - 1]);
  }

  uint64_t ended() const { return ended_; }                       // number of steps in the spool that have ended
  uint64_t count() const { return count_; }                       // number of these to remove now
  std::optional<uint64_t> exceeded() const { return exceeded_; }  // number of ended steps when it was exceeded
  uint64_t failed_at() const { return failed_at_; }               // ticks; 0: no request failed
  uint64_t until() const { return until_; }
  uint32_t optimizer() const { return optimizer_; }
  const StillNeeded& needed() const { return needed_; }
  uint32_t lane(size_t index) const { return block_of(index).lane; }

  // The end of the older events in a lane.
  Reached reached(size_t index) const {
    Reached reached = spool_.reached(lane(index));
    const auto& of = spool_.lanes()[index];
    const std::byte* behind = reached_[index];
    size_t in = of.first_block;  // the block of the last older event
    for (size_t i = of.first_block; i < of.first_block + of.blocks; ++i) {
      const SpoolReader::Block& block = spool_.blocks()[i];
      if (behind > block.payload && behind <= block.payload + block.committed) in = i;
    }
    for (size_t i = of.first_block; i < of.first_block + of.blocks; ++i) {
      const SpoolReader::Block& block = spool_.blocks()[i];
      if (block.is_older) continue;
      uint32_t taken = 0;
      if (behind != nullptr && i < in) taken = block.committed;
      if (behind != nullptr && i == in) taken = static_cast<uint32_t>(behind - block.payload);
      const bool is_over = i < in || (block.is_closed && block.whole && !has_event(block, taken));
      reached = is_over ? Reached{block.number + 1, 0} : Reached{block.number, block.passed_over + taken};
      if (!is_over) break;
    }
    return reached;
  }

 private:
  const SpoolReader::Block& block_of(size_t index) const { return spool_.blocks()[spool_.lanes()[index].first_block]; }

  void follow(uint64_t last) {
    StepBorders borders(0, optimizer_);
    uint64_t number = 0;
    spool_.for_each_event(
        [&](const RecordHeader* record, size_t lane, uint64_t ticks, const RecordHeader* in_spool) {
          if (number++ > last) return;
          needed_.event(record, this->lane(lane), ticks, in_spool);
          if (borders.event(record, lane)) needed_.step_ended();
          reached_[lane] = reinterpret_cast<const std::byte*>(in_spool) + size_t{in_spool->words} * 8;
          until_ = ticks;
        },
        [&](size_t lane) {
          if (number > last) return;
          needed_.gap(this->lane(lane));
          borders.gap(lane);
        });
  }

  static bool has_event(const SpoolReader::Block& block, uint32_t from) {
    for (uint32_t at = from; at < block.committed;) {
      const auto* record = reinterpret_cast<const RecordHeader*>(block.payload + at);
      if (is_event(record->kind)) return true;
      at += uint32_t{record->words} * 8;
    }
    return false;
  }

  const SpoolReader& spool_;
  StillNeeded needed_;
  std::vector<const std::byte*> reached_;  // by lane: end of the last event
  std::optional<uint64_t> exceeded_, failed_;
  uint64_t ended_ = 0, count_ = 0, until_ = 0, failed_at_ = 0;
  uint32_t optimizer_ = 0;
};

// Blocks of the spool with only older events, by position: SpoolReader will skip them.
std::set<uint64_t> left_out(const SpoolReader& spool, const std::map<uint32_t, Reached>& reached) {
  std::set<uint64_t> left_out, needed;
  for (const SpoolReader::Block& block : spool.blocks()) {
    const auto place = spool.place_of(block.payload - kBlockHeaderBytes);
    if (!place) continue;
    const bool is_over = block.is_closed && block.whole && block.number < reached.at(block.lane).piece;
    (is_over ? left_out : needed).insert(*place);
  }
  std::erase_if(left_out, [&](uint64_t place) { return needed.contains(place); });
  return left_out;
}

template <class Record>
Record record_of(RecordKind kind, uint8_t flags, uint32_t id) {
  Record record{};
  record.header = {kind, flags, sizeof(Record) / 8, id};
  return record;
}

// Writes the names and the properties of the process: those that were older before, and those of the blocks that are
// removed now.
void write_names(OlderWriter& to, const SpoolReader& spool, const StillNeeded& needed,
                 const std::set<uint64_t>& left_out) {
  std::map<Loss, StillNeeded::Lost> lost = needed.lost();
  for (auto kind = static_cast<uint8_t>(RecordKind::string); kind <= static_cast<uint8_t>(RecordKind::source); ++kind) {
    for (const RecordHeader* record : spool.interned(RecordKind{kind})) {
      const auto place = spool.place_of(record);
      if (place && !left_out.contains(*place)) continue;
      if (record->kind != RecordKind::loss) {
        to.record(record);
        continue;
      }
      const auto& loss = *reinterpret_cast<const LossRecord*>(record);
      StillNeeded::Lost& all = lost[Loss{record->flags}];
      all.since = all.count == 0 ? loss.ticks : std::min(all.since, loss.ticks);
      all.count += loss.count;
    }
  }
  for (const auto& [kind, all] : lost) {
    auto record = record_of<LossRecord>(RecordKind::loss, static_cast<uint8_t>(kind), 0);
    record.count = all.count;
    record.ticks = all.since;
    to.record(&record.header);
  }
}

void write_peaks(OlderWriter& to, const SpoolReader& spool, const StillNeeded& needed) {
  std::map<uint8_t, OlderPeakRecord> peaks;
  if (spool.older()) {
    for (const OlderPeakRecord* peak : spool.older()->peaks) peaks[peak->header.flags] = *peak;
  }
  const uint64_t steps = spool.older() ? spool.older()->steps : 0;
  for (const auto& [device, peak] : needed.peaks()) {
    const auto known = peaks.find(device);
    if (known != peaks.end() && known->second.bytes >= peak.bytes) continue;
    auto& record = peaks[device] = record_of<OlderPeakRecord>(RecordKind::older_peak, device, 0);
    record.ticks = peak.ticks;
    record.bytes = peak.bytes;
    record.step = steps + peak.step;
  }
  for (const auto& [device, record] : peaks) to.record(&record.header);
}

ClockAnchor anchor_before(const SpoolReader& spool, uint64_t ticks) {
  ClockAnchor last = spool.facts().start;
  for (const ClockAnchor& anchor : spool.anchors()) {
    if (anchor.ticks <= ticks && anchor.ticks > last.ticks) last = anchor;
  }
  return last;
}

// A spool that is open to release its blocks.
class Space {
 public:
  explicit Space(const std::string& path)
      : path_(path), file_(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {}
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;
  ~Space() {
    if (file_ >= 0) ::close(file_);
  }

  template <class Places>
  Status give_back(const Places& places) {
    for (auto at = places.begin(); at != places.end();) {
      const uint64_t first = *at;
      uint64_t count = 0;
      for (; at != places.end() && *at == first + count; ++at) ++count;
      int answer;
      do {
        answer = fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                           static_cast<off_t>(kSpoolHeaderBytes + first * kBlockBytes),
                           static_cast<off_t>(count * kBlockBytes));
      } while (answer != 0 && errno == EINTR);
      if (answer != 0)
        return Error{path_ + ": its space cannot be given back: " + std::strerror(errno) +
                     ": write spools to a local disk with --spool DIR"};
    }
    return Done{};
  }
  Status say_released(uint64_t blocks) { return say(blocks, offsetof(SpoolHeader, released_blocks)); }
  // Writes a number of the header.
  Status say(uint64_t number, size_t offset) {
    if (pwrite(file_, &number, sizeof(number), static_cast<off_t>(offset)) == sizeof(number)) return Done{};
    return Error{path_ + ": cannot be written: " + std::strerror(errno)};
  }

 private:
  const std::string& path_;
  int file_;
};

}  // namespace

Result<RingState> leave_out_older_steps(const std::string& path, KeepSteps keep) {
  const auto spool = SpoolReader::open(path);
  if (!spool) return spool.error();
  Space space(path);
  // Left over from an interrupted call.
  std::set<uint64_t> not_needed(spool->left_out().begin(), spool->left_out().end());
  RingState state;
  state.steps_left_out = spool->older() ? spool->older()->steps : 0;
  const OlderSteps older(*spool, keep);
  state.steps = state.steps_left_out + older.ended();
  if (older.exceeded()) state.reached = state.steps_left_out + *older.exceeded();
  state.failed_at = older.failed_at();
  const auto finished = [&]() -> Result<RingState> {
    // Another reader has the blocks mapped: the next call releases them.
    state.blocks = spool->blocks_on_disk();
    if (!spool->reads_alone()) return state;
    if (const Status status = space.give_back(not_needed); !status) return status.error();
    state.blocks -= not_needed.size();
    if (const Status status = space.say_released(spool->claimed_blocks() - state.blocks); !status)
      return status.error();
    return state;
  };
  if (older.count() == 0) return finished();
  state.steps_left_out += older.count();

  const std::vector<StillNeeded::Event> events = older.needed().events();
  std::map<uint32_t, std::vector<const StillNeeded::Event*>> by_lane;
  for (const StillNeeded::Event& event : events) by_lane[event.lane].push_back(&event);
  // Drops lanes whose last block is gone.
  std::map<uint32_t, Reached> reached;
  if (!spool->left_out().empty()) reached = spool->reached();
  for (size_t i = 0; i < spool->lanes().size(); ++i) reached[older.lane(i)] = older.reached(i);
  const std::set<uint64_t> now_left_out = left_out(*spool, reached);

  OlderWriter writer(spool->facts(), anchor_before(*spool, older.until()));
  const auto full_form = std::make_unique<FullForm>();
  for (size_t i = 0; i < spool->lanes().size(); ++i) {
    const uint32_t lane = older.lane(i);
    const bool is_first = i == 0;
    if (!is_first && !by_lane.contains(lane)) continue;
    writer.lane(lane, spool->lanes()[i].os_thread);
    if (is_first) {
      write_names(writer, *spool, older.needed(), now_left_out);
      write_peaks(writer, *spool, older.needed());
      auto steps = record_of<OlderStepsRecord>(RecordKind::older_steps, 0, older.optimizer());
      steps.until = older.until();
      steps.steps = state.steps_left_out;
      writer.record(&steps.header);
      for (const auto& [number, far] : reached) {
        auto record = record_of<OlderLaneRecord>(RecordKind::older_lane, 0, number);
        record.piece = far.piece;
        record.bytes = far.bytes;
        writer.record(&record.header);
      }
    }
    for (const StillNeeded::Event* event : by_lane[lane]) {
      const RecordHeader* record = full_form->of(event->record, 0);         // the writer sets the ticks
      const bool is_operator = record->kind == RecordKind::operator_begin;  // without its input views
      writer.event(record, is_operator ? sizeof(OperatorRecord) : size_t{record->words} * 8, event->ticks);
    }
  }
  state.older_bytes = writer.bytes();
  if (const Status status = writer.finish(older_path(path)); !status) return status.error();
  not_needed.insert(now_left_out.begin(), now_left_out.end());
  return finished();
}

Status stop_after_steps(const std::string& path, uint64_t steps) {
  return Space(path).say(steps, offsetof(SpoolHeader, stop_after_steps));
}

}  // namespace tapelens::trace
