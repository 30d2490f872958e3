// Writes a spool from inside the recorded process. Used by profiler/record and by the builders of tests and benches.
// Needs libc and xxhash only. Never throws; if no room is left, `reserve` returns null and counts the loss.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "trace/record.h"
#include "trace/short_form.h"
#include "trace/spool.h"
#include "trace/spool_file.h"
#include "trace/spool_lock.h"
#include "trace/types.h"

namespace tapelens::trace {

struct SpoolLimits {
  uint64_t max_bytes = uint64_t{8} << 30;  // limit for the spool on disk
  // Blocks are released during the write (ring.h): the file may be far longer than its size on disk.
  bool is_ring = false;
  uint64_t epoch_ns = 0;  // CLOCK_MONOTONIC; 0: now
};

class SpoolWriter;

// One thread's place in a spool: owned by one thread at a time.
class Lane {
 public:
  // Room for a record of `bytes` (a multiple of 8, at most kBlockPayloadBytes), or null if the recording has stopped.
  // Readers do not see it before `commit`.
  void* reserve(size_t bytes) {
    if (__builtin_expect(used_ + bytes > capacity_, 0) && !next_block(bytes)) return nullptr;
    return payload_ + used_;
  }
  void commit(size_t bytes) {
    used_ += static_cast<uint32_t>(bytes);
    block_->committed.store(used_, std::memory_order_release);
  }
  // Writes a record of fixed size, in its short form if it has one and fits.
  template <class Record>
  bool write(const Record& record) {
    void* place = reserve(sizeof(Record));
    if (place == nullptr) return false;
    if constexpr (ShortForm<Record>::exists) {
      const uint64_t since = record.ticks - anchor_ticks_;  // more than 32 bits, if the record is older
      const size_t bytes = since <= UINT32_MAX ? ShortForm<Record>::write(place, record, uint32_t(since)) : 0;
      if (bytes != 0) {
        commit(bytes);
        return true;
      }
    }
    *static_cast<Record*>(place) = record;  // field by field, without a copy on the stack
    commit(sizeof(Record));
    return true;
  }
  // Writes a record and what follows it: an operator and the addresses of its inputs, or input views. Together they
  // have at most kBlockPayloadBytes.
  template <class Record, class Element>
  bool write(const Record& record, std::span<const Element> tail) {
    static_assert(sizeof(Element) % 8 == 0);
    const size_t full = sizeof(Record) + tail.size_bytes();
    void* place = reserve(full);
    if (place == nullptr) return false;
    const uint64_t since = record.ticks - anchor_ticks_;
    size_t bytes = since <= UINT32_MAX ? write_short(place, record, tail, uint32_t(since)) : 0;
    if (bytes == 0) {
      bytes = full;
      auto* all = static_cast<Record*>(place);
      *all = record;
      all->header.words = static_cast<uint16_t>(full / 8);
      std::ranges::copy(tail, reinterpret_cast<Element*>(all + 1));
    }
    commit(bytes);
    return true;
  }
  // Checksums the block; the lane can continue in a new one. Safe in a signal handler that interrupts any of these
  // functions.
  void finish();
  // The thread ends: a new lane takes the rest of its block. The lane may still continue.
  void leave();
  uint32_t number() const { return number_; }

 private:
  friend class SpoolWriter;
  bool next_block(size_t bytes);
  void enter(BlockHeader* block, uint64_t place, uint32_t used);
  SpoolWriter* writer_ = nullptr;
  BlockHeader* block_ = nullptr;
  std::byte* payload_ = nullptr;
  uint64_t place_ = 0;         // index of the block
  uint64_t anchor_ticks_ = 0;  // of the block
  uint32_t used_ = 0, capacity_ = 0, number_ = 0, blocks_ = 0, os_thread_ = 0;
};

class SpoolWriter {
 public:
  // Creates `path` (exclusively) and its first chunk. Returns errno on failure, else 0.
  int open(const char* path, const SpoolLimits& limits);
  // Callable from any thread; numbers the lane. If the spool was not opened, the lane writes nothing.
  void attach(Lane& lane, uint32_t os_thread);
  void count(Loss loss, uint64_t how_many = 1);  // any thread
  // A request failed for lack of memory, and its record, if any, is committed. Any thread.
  void memory_ran_out();
  // Whether `tapelens record` asks to stop after this many steps.
  bool is_enough(uint64_t steps) const;
  // The process ends by itself, with this exit code if known. Lanes that are idle were finished before.
  // Async-signal-safe.
  void finish(std::optional<int> exit_code = {});
  // Another program replaces this one: called before exec, and reverted if exec failed. Async-signal-safe.
  void replaced(bool is_replaced);
  // After fork, async-signal-safe: counts the child in the shared header; the child never writes again. The child's
  // inherited lanes write to private memory from here on.
  void abandon_in_child();
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  void stop() { stopped_.store(true, std::memory_order_relaxed); }
  // Unmaps the spool; afterwards no lane may be used. For tests and benches: a recorded process keeps its spool mapped.
  void close();

 private:
  friend class Lane;
  // Blocks of the file that are mapped together. Chunks are mapped on demand, because a large reserved range would
  // count towards the program's `ulimit -v`. A chunk is unmapped when all its blocks are finished.
  struct Chunk {
    std::atomic<std::byte*> address;
    std::atomic<uint32_t> finished;  // blocks
  };
  struct LeftOver {
    BlockHeader* block;
    uint64_t place;
    uint32_t used;
  };
  BlockHeader* claim(uint64_t& place);
  bool grow(uint64_t blocks, bool wait);
  bool grow_by_a_chunk(Loss& why);
  bool has_room(uint64_t blocks) const;
  void refuse(Loss why);  // stops the recording for this reason
  void release(BlockHeader* block, uint64_t place);
  bool keep_left_over(const LeftOver& left);
  bool take_left_over(Lane& lane, size_t bytes);
  void finish_left_overs();
  void end_clock();
  uint64_t chunk_bytes(uint64_t chunk) const;

  SpoolFile file_;
  std::atomic<bool> can_grow_{false};  // until it is finished
  uint64_t max_blocks_ = 0;            // limit of the file's length, in blocks
  uint64_t most_on_disk_ = 0;          // limit of the blocks on disk
  SpoolHeader* header_ = nullptr;
  Chunk* chunks_ = nullptr;
  SpoolLock growth_;                       // held while the file grows; ready blocks are claimed without it
  std::atomic<uint64_t> ready_blocks_{0};  // blocks that are reserved on disk and mapped
  std::atomic<uint32_t> lanes_{0};
  std::atomic<bool> stopped_{false};
  std::atomic<uint8_t> stopped_by_{0};  // Loss; 0: nothing is counted as lost
  // Rests of blocks of threads that ended. Without them every thread would cost a block.
  static constexpr size_t kMostLeftOvers = 512;
  SpoolLock left_lock_;
  size_t left_count_ = 0;
  LeftOver left_[kMostLeftOvers] = {};
};

// The clock of a spool: the time stamp counter, if the CPU has one.
inline uint64_t ticks_now() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
#error "ticks_now: no clock for this architecture"
#endif
}
uint64_t monotonic_ns();

}  // namespace tapelens::trace
