// Writes the file beside a spool that keeps the needed records of the spool's older steps. The file has the form of a
// spool: a header, and finished blocks. Used by ring.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trace/record.h"
#include "trace/result.h"
#include "trace/spool.h"
#include "trace/spool_reader.h"

namespace tapelens::trace {

class OlderWriter {
 public:
  // `anchor`: one point of time of the older steps, in both clocks.
  OlderWriter(const SpoolFacts& of, ClockAnchor anchor) : of_(of), anchor_(anchor) {}

  // Starts a lane: the records that follow belong to this lane. Write each lane once, with its events in time order.
  void lane(uint32_t number, uint32_t os_thread);
  void record(const RecordHeader* record);
  // Writes only the first `bytes` of an event's record, with these ticks.
  void event(const RecordHeader* record, size_t bytes, uint64_t ticks);

  // Writes to a temporary name, then renames the file to `path`.
  Status finish(const std::string& path);
  uint64_t bytes() const { return kSpoolHeaderBytes + blocks_.size() * kBlockBytes; }

 private:
  struct Block {
    alignas(8) std::byte bytes[kBlockBytes];
    BlockHeader& header() { return *reinterpret_cast<BlockHeader*>(bytes); }
  };
  std::byte* reserve(size_t bytes);
  std::byte* add_block(size_t bytes);
  void finish_block();

  const SpoolFacts& of_;
  ClockAnchor anchor_;
  std::vector<std::unique_ptr<Block>> blocks_;
  uint32_t used_ = kBlockPayloadBytes;  // bytes in use of the last block
  uint32_t lane_ = 0, os_thread_ = 0, piece_ = 0;
};

}  // namespace tapelens::trace
