// Follows an untrusted spool while its process writes it (`tapelens top`): reads each committed byte once, and passes
// on the events of all lanes in the order of time. spool_reader.h reads a whole spool at once. This class never writes
// and never maps: a file that is cut, or whose blocks are released (ring.h), only ends what can be read.
//
// A thread takes the time of an event before it commits the event. So poll() passes on the events before a time that
// lies a little in the past. An event that a thread commits later than that is passed on too, out of order, and
// counted: after the end of the process, restart() reads the spool again in the right order.
//
// Memory: the events after that time, at most 64 KiB for each thread and kBytesOfAPoll. A spool that is far ahead is
// read in parts, each up to the time at which the next part begins.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/record.h"
#include "trace/regular_file.h"
#include "trace/result.h"
#include "trace/short_form.h"
#include "trace/spool.h"
#include "trace/spool_reader.h"
#include "trace/ticks.h"
#include "trace/types.h"

namespace tapelens::trace {

// Receives the records. They are valid during the call.
class SpoolVisitor {
 public:
  SpoolVisitor() = default;
  SpoolVisitor(const SpoolVisitor&) = delete;
  SpoolVisitor& operator=(const SpoolVisitor&) = delete;
  virtual ~SpoolVisitor() = default;
  // A record that is not an event, as soon as it is committed. The same record may come twice.
  virtual void interned(const RecordHeader* record) = 0;
  // `lane`: counts the threads of the process from 1.
  virtual void event(const RecordHeader* record, uint32_t lane, uint64_t ticks) = 0;
  virtual void gap(uint32_t lane) = 0;  // records of a lane are missing
  virtual void restart() = 0;           // all events come again, from the first one
};

class SpoolTail {
 public:
  static constexpr uint64_t kBytesOfAPoll = uint64_t{16} << 20;

  static Result<SpoolTail> open(const std::string& path);

  // Passes on the events before `until` (ticks; UINT64_MAX: all). False: more is committed already, call it again.
  // Holds a shared lock of the spool, like each reader, for the duration of the call.
  bool poll(uint64_t until, SpoolVisitor& to);
  // The next poll() begins with the first event.
  void restart();

  uint32_t pid() const { return pid_; }
  SpoolState state() const { return state_; }  // at the last poll
  std::optional<uint8_t> exit_code() const { return exit_code_; }
  uint64_t wall_ns() const { return wall_ns_; }   // since 1970, when the process began to record
  uint64_t lost_events() const { return lost_; }  // by the process: no room, limits
  uint64_t torn_blocks() const { return torn_; }
  uint64_t late_events() const { return late_; }
  uint64_t bytes_read() const { return bytes_read_; }  // of payload, since the last restart
  bool is_ring() const { return older_read_.inode != 0; }
  // Since the recording began; 0 for times before.
  Time time_of(uint64_t ticks) const;
  // The ticks of a time of CLOCK_MONOTONIC, for spools of this machine.
  uint64_t ticks_at(uint64_t ns) const;
  // One point of time in both clocks of this machine: until the process ends, it makes the two functions exact.
  void note_anchor(ClockAnchor anchor);

 private:
  // The events of a lane in one block, in a buffer of whole records in their full forms.
  struct Piece {
    std::vector<uint64_t> words;
    size_t at = 0;      // into `words`: the next event
    uint64_t seen = 0;  // bytes of the piece that were read, with names
  };
  struct Lane {
    std::map<uint64_t, Piece> pieces;  // by number; those of older steps come first
    uint64_t next = 0;                 // the number of the current piece
    uint64_t ticks = 0;                // of its last event; never decreases
  };
  struct Block {
    uint64_t place = 0;  // in the file
    uint32_t lane = 0, number = 0;
    uint32_t read = 0;  // bytes of payload
    uint64_t anchor_ticks = 0;
  };
  struct Header {
    uint32_t magic, lane, os_thread, number;
    uint64_t anchor_ticks, anchor_ns;
    uint32_t committed, finished;
  };

  SpoolTail(std::string path, RegularFile file) : path_(std::move(path)), file_(std::move(file)) {}
  bool read_spool_header();
  bool read_header(int file, uint64_t place, Header& header) const;
  uint64_t find_blocks();  // the time before which all events are known
  bool begin_block(uint64_t place);
  void read_blocks(SpoolVisitor& to);
  bool read_block(int file, Block& block, bool is_older, SpoolVisitor& to);  // false: it is over
  bool pass_records(Block& block, const std::vector<uint64_t>& words, bool is_older, SpoolVisitor& to);
  void keep_event(const RecordHeader* record, const Block& block, bool is_older, Piece& piece);
  void read_older(SpoolVisitor& to);
  bool has_newer_older_file() const { return state_of_older_file() != older_read_; }
  bool settle(uint32_t number, Lane& lane, SpoolVisitor& to);
  void merge(uint64_t until, SpoolVisitor& to);
  static uint64_t key_of(uint32_t number, bool is_older) { return (uint64_t{is_older ? 0U : 1U} << 32) + number; }

  std::string path_;
  RegularFile file_;
  std::unique_ptr<FullForm> full_form_ = std::make_unique<FullForm>();
  uint32_t pid_ = 0;
  uint64_t wall_ns_ = 0, epoch_ns_ = 0;
  SpoolState state_ = SpoolState::recording;
  std::optional<uint8_t> exit_code_;
  uint64_t lost_ = 0, torn_ = 0, late_ = 0, bytes_read_ = 0;
  ClockAnchor start_{}, last_{};
  uint64_t claimed_ = 0, scanned_ = 0;  // blocks
  std::vector<uint64_t> not_begun_;     // scanned blocks without a header
  std::vector<Block> open_;
  std::map<uint32_t, Lane> lanes_;
  std::map<uint32_t, SpoolReader::Reached> reached_;  // by lane: the end of the events that the older file replaces
  // One state of the file beside the spool. A file may get the inode of one that was removed.
  struct FileState {
    uint64_t inode = 0, modified_ns = 0;
    friend bool operator==(const FileState&, const FileState&) = default;
  };
  FileState state_of_older_file() const;
  FileState older_read_, older_seen_;  // when it was read, and at the last poll
  size_t not_begun_at_first_ = 0;      // blocks without a header at the first poll: released ones among them
  uint64_t passed_ = 0;                // ticks of the last event that was passed on
  bool is_first_ = true, was_hole_skipped_ = false, was_released_ = false;
};

}  // namespace tapelens::trace
