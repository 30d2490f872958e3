// The spool: the file that one recorded process appends to while it runs. Layout only; see spool_writer.h and
// spool_reader.h. docs/trace-format.md draws it.
//
// One header page, then fixed blocks. A thread (a *lane*) claims a block with one atomic add and is its only writer.
// Committed data is in the page cache, so it survives any end of the process. When a thread ends, the rest of its block
// goes to a new thread, behind a LaneRecord.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tapelens::trace {

inline constexpr uint64_t kSpoolMagic = 0x314c4f4f5053544cULL;  // "LTSPOOL1"
inline constexpr uint32_t kBlockMagic = 0x4b434c42;             // "BLCK"
inline constexpr size_t kSpoolHeaderBytes = 4096;
inline constexpr size_t kBlockBytes = size_t{64} * 1024;
inline constexpr size_t kBlockHeaderBytes = 64;
inline constexpr size_t kBlockPayloadBytes = kBlockBytes - kBlockHeaderBytes;

enum class SpoolState : uint32_t {
  recording = 0,
  finished = 1,
  replaced = 2,  // by another program, with exec: also a regular end
};

struct SpoolHeader {
  uint64_t magic;
  uint16_t minor, major;  // version of the format: record.h
  uint32_t block_bytes;
  uint32_t pid;
  uint32_t parent_pid;
  uint64_t wall_ns;                // since 1970, when the process began to record
  uint64_t epoch_ns;               // CLOCK_MONOTONIC when the recording of all processes began
  uint64_t start_ticks, start_ns;  // the clock's first anchor; ns are CLOCK_MONOTONIC
  std::atomic<uint64_t> claimed_blocks;
  std::atomic<uint32_t> state;            // SpoolState
  std::atomic<uint32_t> forked_children;  // the children increment it
  std::atomic<uint64_t> lost[32];         // counts by Loss
  std::atomic<uint64_t> lost_since_ticks[32];
  uint64_t end_ticks, end_ns;  // the clock's last anchor, when `state` stopped being recording; 0 before
  uint32_t exit_code;          // exit code of a finished process, plus 1; 0: not known
  uint32_t reserved;
  // Blocks whose disk space was released (ring.h). Written by `tapelens record`. It limits only the size of the file
  // that the writer grows.
  std::atomic<uint64_t> released_blocks;
  // Number of steps after which the recording ends; 0: at the end of the program. Written by `tapelens record --when`.
  std::atomic<uint64_t> stop_after_steps;
  // Number of requests that failed for lack of memory. Read by `tapelens record --on-demand`.
  std::atomic<uint64_t> out_of_memory;
};
static_assert(sizeof(SpoolHeader) <= kSpoolHeaderBytes);

struct BlockHeader {
  uint32_t magic;
  uint32_t lane;                     // the lane that started the block; counts the threads of the process from 1
  uint32_t os_thread;                // gettid()
  uint32_t number;                   // of this block among its lane's blocks, from 0
  uint64_t anchor_ticks, anchor_ns;  // one point of time in both clocks, when the block was claimed
  std::atomic<uint32_t> committed;   // bytes of payload that hold whole records (release store per record)
  std::atomic<uint32_t> finished;    // 1: the checksum is valid, and the block is complete
  uint64_t checksum;                 // XXH3_64 of the committed payload
  uint64_t reserved[2];
};
static_assert(sizeof(BlockHeader) == kBlockHeaderBytes);

}  // namespace tapelens::trace
