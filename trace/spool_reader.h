// Reads a spool that nobody vouches for: every block and record is checked once, when it is opened, and what is torn is
// left out and counted. Then the events of all lanes come in the order of time. Used by the sealer, tests and benches.
//
// Of a spool whose older steps were left out (ring.h), what is kept of them is in a file beside it, and is read as if
// it were in the spool: those events come first in each lane, and the spool's own that they stand for are passed over.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trace/record.h"
#include "trace/result.h"
#include "trace/spool.h"
#include "trace/ticks.h"
#include "trace/types.h"

namespace tapelens::trace {

// What a spool's header says, read once.
struct SpoolFacts {
  uint32_t pid = 0, parent_pid = 0;
  uint64_t wall_ns = 0, epoch_ns = 0;
  bool finished = false;  // or became another program: it ended by itself
  std::optional<uint8_t> exit_code;
  uint32_t forked_children = 0;
  std::array<uint64_t, 32> lost{}, lost_since_ticks{};
  ClockAnchor start{}, end{};
};

// The file that has what is kept of a spool's older steps: "1.spool" -> "1.older".
std::string older_path(const std::string& spool);
// Its name while it is written.
std::string part_path(const std::string& older);
inline constexpr uint64_t kOlderMagic = 0x31444c4f5053544cULL;  // "LTSPOLD1"

class SpoolReader {
 public:
  struct Block {                                  // or a piece of one: where another lane took over, another begins
    uint32_t lane, os_thread, number, committed;  // committed: bytes of payload that are whole, valid records
    const std::byte* payload;
    bool whole;                  // false: cut short at a torn record
    bool follows;                // on the block before it in its lane: nothing is missing between them
    bool is_older;               // of the file beside the spool
    bool is_closed;              // nothing is written into it any more
    uint32_t events, operators;  // in it
    uint32_t passed_over;        // bytes before `payload` that are among the older ones
  };
  // What the file beside the spool says.
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
  // Whether nobody else reads the spool, nor will before this one is gone: only then may blocks of it be given back.
  // Every reader holds a shared lock (flock) of it; this makes it the exclusive one. Asked once.
  bool reads_alone() const;
  SpoolReader(SpoolReader&& other) noexcept;
  SpoolReader& operator=(SpoolReader&&) = delete;
  ~SpoolReader();

  const SpoolFacts& facts() const { return facts_; }
  const std::vector<LaneBlocks>& lanes() const { return lanes_; }
  const std::vector<Block>& blocks() const { return blocks_; }  // by lane and number
  // Records that are no events, of each kind below operator_begin, whatever lane they are on.
  const std::vector<const RecordHeader*>& interned(RecordKind kind) const {
    return interned_[static_cast<size_t>(kind)];
  }
  uint64_t events() const { return events_; }
  uint64_t operators() const { return operators_; }
  uint64_t torn_blocks() const { return torn_blocks_; }
  // Records of kinds that this reader does not know, which are passed over.
  uint64_t unknown_records() const { return unknown_records_; }
  uint64_t file_bytes() const { return spool_.size + older_.size; }
  const std::optional<Older>& older() const { return said_of_older_; }
  // How far a lane's events are among the older ones; the first piece that is not, and bytes of that one.
  struct Reached {
    uint32_t piece = 0, bytes = 0;
  };
  Reached reached(uint32_t lane) const;
  const std::map<uint32_t, Reached>& reached() const { return reached_; }  // by lane
  // Blocks of the spool that were begun and hold anything, and those of them that are passed over, by their place.
  uint64_t blocks_on_disk() const { return on_disk_; }
  uint64_t claimed_blocks() const { return claimed_; }  // of the file: these, and what was given back or never begun
  const std::vector<uint64_t>& left_out() const { return left_out_; }
  // The block of the spool that a record is in; nothing: it is among the older ones.
  std::optional<uint64_t> place_of(const void* record) const;
  // No valid id of an interned record is larger: each takes at least 16 bytes of what was committed.
  uint64_t largest_id() const { return committed_ / 16; }
  std::vector<ClockAnchor> anchors() const;

  // Calls visit(const RecordHeader*, size_t lane, uint64_t ticks) for each event of all lanes in the order of ticks,
  // which never fall within a lane, and gap(size_t lane) where blocks of a lane are missing.
  template <class Visit, class Gap>
  void for_each_event(Visit&& visit, Gap&& gap) const;

 private:
  struct Cursor;
  SpoolReader() = default;
  // A file, mapped.
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

// A place in a lane: on an event, or past the end.
struct SpoolReader::Cursor {
  const std::byte* at = nullptr;
  const std::byte* end = nullptr;
  uint64_t ticks = 0;  // of the event; never falls
  const Block* block = nullptr;
  const Block* last_block = nullptr;
  size_t lane = 0;

  const RecordHeader* record() const { return reinterpret_cast<const RecordHeader*>(at); }
  void skip() { at += size_t{record()->words} * 8; }

  // Goes to the next event at or after `at`; false at the end of the lane.
  template <class Gap>
  bool settle(Gap&& gap) {
    for (;;) {
      while (at < end) {
        if (is_event(record()->kind)) {
          // What an operator was given of its inputs is part of its begin: no event of another lane comes between.
          if (record()->kind != RecordKind::input_views) ticks = std::max(ticks, ticks_of(record()));
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
    // One lane mostly goes on for a while: the heap is asked only when another is earlier.
    const uint64_t until = waiting.empty() ? UINT64_MAX : waiting.front().ticks;
    bool more = true;
    do {
      visit(cursor.record(), cursor.lane, cursor.ticks);
      cursor.skip();
      more = cursor.settle(gap);
    } while (more && (cursor.ticks < until || waiting.empty()));
    if (!more) continue;
    waiting.push_back(cursor);
    std::push_heap(waiting.begin(), waiting.end(), later);
  }
}

}  // namespace tapelens::trace
