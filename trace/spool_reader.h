// Reads an untrusted spool. open() checks every block and record once, leaves out torn ones and counts them. Then it
// returns the events of all lanes in time order. Used by the sealer, tests and benches.
//
// If a spool's older steps were removed (ring.h), a file beside it keeps the needed records. They are read as if they
// were in the spool: they come first in each lane, and the spool's own copies are skipped.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "trace/record.h"
#include "trace/result.h"
#include "trace/short_form.h"
#include "trace/spool.h"
#include "trace/ticks.h"
#include "trace/types.h"

namespace tapelens::trace {

// The contents of a spool's header, read once.
struct SpoolFacts {
  uint32_t pid = 0, parent_pid = 0;
  uint64_t wall_ns = 0, epoch_ns = 0;
  bool finished = false;  // or replaced by exec: the process ended by itself
  std::optional<uint8_t> exit_code;
  uint32_t forked_children = 0;
  std::array<uint64_t, 32> lost{}, lost_since_ticks{};
  ClockAnchor start{}, end{};
};

// The file that keeps the needed records of a spool's older steps: "1.spool" -> "1.older".
std::string older_path(const std::string& spool);
// Its name during the write.
std::string part_path(const std::string& older);
inline constexpr uint64_t kOlderMagic = 0x31444c4f5053544cULL;  // "LTSPOLD1"

class SpoolReader {
 public:
  struct Block {                                  // or a piece of one: a lane that takes a block over starts a new
                                                  // piece
    uint32_t lane, os_thread, number, committed;  // committed: bytes of payload that are whole, valid records
    const std::byte* payload;
    bool whole;                  // false: cut short at a torn record
    bool follows;                // the block before it in its lane: no block is missing between them
    bool is_older;               // from the file beside the spool
    bool is_closed;              // the process writes no more to it
    uint32_t events, operators;  // in it
    uint32_t passed_over;        // bytes before `payload` that the file of older steps replaces
    uint64_t anchor_ticks;
  };
  // The summary in the file beside the spool.
  struct Older {
    std::vector<const OlderPeakRecord*> peaks;
    uint64_t until = 0, steps = 0;
    uint32_t optimizer = 0;  // string
  };
  struct LaneBlocks {
    uint32_t os_thread;
    size_t first_block, blocks;  // in blocks()
  };

  static Result<SpoolReader> open(const std::string& path);
  // Whether this is the only reader now and for its lifetime: only then may blocks be released. Every reader holds a
  // shared lock (flock) of the spool; this call makes it exclusive. Call it once.
  bool reads_alone() const;
  SpoolReader(SpoolReader&& other) noexcept;
  SpoolReader& operator=(SpoolReader&&) = delete;
  ~SpoolReader();

  const SpoolFacts& facts() const { return facts_; }
  const std::vector<LaneBlocks>& lanes() const { return lanes_; }
  const std::vector<Block>& blocks() const { return blocks_; }  // by lane and number
  // Records other than events, by kind (below operator_begin), of all lanes.
  const std::vector<const RecordHeader*>& interned(RecordKind kind) const {
    return interned_[static_cast<size_t>(kind)];
  }
  uint64_t events() const { return events_; }
  uint64_t operators() const { return operators_; }
  uint64_t torn_blocks() const { return torn_blocks_; }
  // Records of unknown kinds, which are skipped.
  uint64_t unknown_records() const { return unknown_records_; }
  uint64_t file_bytes() const { return spool_.size + older_.size; }
  const std::optional<Older>& older() const { return said_of_older_; }
  // The end of a lane's older events: the first piece that is not older, and the number of its bytes that are.
  struct Reached {
    uint32_t piece = 0, bytes = 0;
  };
  Reached reached(uint32_t lane) const;
  const std::map<uint32_t, Reached>& reached() const { return reached_; }  // by lane
  // Blocks of the spool that were begun and contain data, and the skipped ones among them, by position.
  uint64_t blocks_on_disk() const { return on_disk_; }
  uint64_t claimed_blocks() const { return claimed_; }  // blocks of the file: these, and the released or unused ones
  const std::vector<uint64_t>& left_out() const { return left_out_; }
  // The block of the spool that contains a record; none for a record of the older steps.
  std::optional<uint64_t> place_of(const void* record) const;
  // The upper bound of valid ids of interned records: each record takes at least 16 committed bytes.
  uint64_t largest_id() const { return committed_ / 16; }
  std::vector<ClockAnchor> anchors() const;

  // Calls visit(const RecordHeader*, size_t lane, uint64_t ticks) for each event of all lanes in the order of ticks,
  // which never decrease within a lane, and gap(size_t lane) where blocks of a lane are missing. The record has its
  // full form, during the call. A visit with a fourth argument, const RecordHeader*, also gets the record in the spool.
  template <class Visit, class Gap>
  void for_each_event(Visit&& visit, Gap&& gap) const;

 private:
  struct Cursor;
  SpoolReader() = default;
  // A mapped file.
  struct Mapped {
    const std::byte* bytes = nullptr;
    size_t size = 0;
    uint64_t inode = 0;
  };
  static Result<SpoolReader> open_once(const std::string& path);
  void read_older();
  void read_block(const std::byte* at, bool is_older);
  bool is_left_out(const BlockHeader& header, const std::byte* payload, uint32_t committed) const;
  bool read_pieces(const BlockHeader& header, const std::byte* payload, uint32_t committed, bool is_older);
  void order_lanes();
  void pass_over(Block& block, uint32_t bytes);

  Mapped spool_, older_;
  int locked_ = -1;  // the spool, open
  std::optional<Older> said_of_older_;
  std::map<uint32_t, Reached> reached_;  // by lane
  std::vector<uint64_t> left_out_;
  uint64_t on_disk_ = 0, claimed_ = 0;
  SpoolFacts facts_;
  std::vector<Block> blocks_;  // by lane and number
  std::vector<LaneBlocks> lanes_;
  std::vector<ClockAnchor> anchors_;
  std::array<std::vector<const RecordHeader*>, 16> interned_;
  uint64_t events_ = 0, operators_ = 0, torn_blocks_ = 0, unknown_records_ = 0;
  uint64_t committed_ = 0;  // bytes
};

// ---- the merge ------------------------------------------------------------------------------------------------

// A position in a lane: at an event, or past the end.
struct SpoolReader::Cursor {
  const std::byte* at = nullptr;
  const std::byte* end = nullptr;
  uint64_t ticks = 0;  // time of the event; never decreases
  const Block* block = nullptr;
  const Block* last_block = nullptr;
  size_t lane = 0;

  const RecordHeader* record() const { return reinterpret_cast<const RecordHeader*>(at); }
  void skip() { at += size_t{record()->words} * 8; }

  // Advances to the first event at or after `at`; false at the end of the lane.
  template <class Gap>
  bool settle(Gap&& gap) {
    for (;;) {
      while (at < end) {
        if (is_event(record()->kind)) {
          // Input views belong to their operator's begin: no event of another lane comes between.
          if (full_kind(record()->kind) != RecordKind::input_views)
            ticks = std::max(ticks, ticks_of(record(), block->anchor_ticks));
          return true;
        }
        skip();
      }
      if (block == last_block) return false;
      ++block;
      if (!block->follows) gap(lane);
      at = block->payload;
      end = at + block->committed;
    }
  }
};

template <class Visit, class Gap>
void SpoolReader::for_each_event(Visit&& visit, Gap&& gap) const {
  const auto full_form = std::make_unique<FullForm>();
  std::vector<Cursor> waiting;  // a heap: the earliest is first, then the lowest lane
  const auto later = [](const Cursor& a, const Cursor& b) {
    return a.ticks != b.ticks ? a.ticks > b.ticks : a.lane > b.lane;
  };
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    Cursor cursor;
    cursor.lane = lane;
    cursor.block = blocks_.data() + lanes_[lane].first_block;
    cursor.last_block = cursor.block + lanes_[lane].blocks - 1;
    cursor.at = cursor.block->payload;
    cursor.end = cursor.at + cursor.block->committed;
    if (cursor.settle(gap)) waiting.push_back(cursor);
  }
  std::make_heap(waiting.begin(), waiting.end(), later);
  while (!waiting.empty()) {
    std::pop_heap(waiting.begin(), waiting.end(), later);
    Cursor cursor = waiting.back();
    waiting.pop_back();
    // One lane often has several events in a row: use the heap only when another lane is earlier.
    const uint64_t until = waiting.empty() ? UINT64_MAX : waiting.front().ticks;
    bool more = true;
    do {
      const RecordHeader* record = full_form->of(cursor.record(), cursor.block->anchor_ticks);
      if constexpr (std::is_invocable_v<Visit&, const RecordHeader*, size_t, uint64_t, const RecordHeader*>) {
        visit(record, cursor.lane, cursor.ticks, cursor.record());
      } else {
        visit(record, cursor.lane, cursor.ticks);
      }
      cursor.skip();
      more = cursor.settle(gap);
    } while (more && (cursor.ticks < until || waiting.empty()));
    if (!more) continue;
    waiting.push_back(cursor);
    std::push_heap(waiting.begin(), waiting.end(), later);
  }
}

}  // namespace tapelens::trace
