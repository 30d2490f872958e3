// Writes the file beside a spool that has what is kept of its older steps, in the form of a spool: a header, and
// finished blocks. Used by ring.h.
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
  // `anchor`: one moment in both clocks, of the older steps.
  OlderWriter(const SpoolFacts& of, ClockAnchor anchor) : of_(of), anchor_(anchor) {}

  // What follows is of this lane. Each lane is written once, its events in the order of time.
  void lane(uint32_t number, uint32_t os_thread);
  void record(const RecordHeader* record);
  // The first bytes of a record, as if it had no more; of an event with these ticks.
  void event(const RecordHeader* record, size_t bytes, uint64_t ticks);

  // Written under another name, then renamed to `path`.
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
  uint32_t used_ = kBlockPayloadBytes;  // of the last block
  uint32_t lane_ = 0, os_thread_ = 0, piece_ = 0;
};

}  // namespace tapelens::trace
