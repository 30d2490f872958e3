// The writer's side of a spool. Runs inside the recorded process: libc and xxhash only, and never throws. Only growing
// the file takes a lock. Disk space is reserved before it is mapped.
#include "trace/spool_writer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <iterator>
#include <utility>

#include "trace/checksum.h"
#include "trace/spool_file.h"

namespace tapelens::trace {
namespace {

constexpr uint64_t kChunkBlocks = 128;  // 8 MiB
// For a ring this is a file of 8 TiB, whose chunk table takes 16 MiB of address space.
constexpr uint64_t kMostRingBlocks = uint64_t{1} << 27;
// Above every real number of blocks: claims after the spool is closed fail.
constexpr uint64_t kClosed = uint64_t{1} << 40;
constexpr uint32_t kLeastLeftOver = 1024;  // bytes: a smaller rest of a block is not reused
constexpr uint32_t kPatience = 10'000;     // 1 s: how long the end of the process waits for other threads

struct Anchor {
  uint64_t ticks, ns;
};

// One point of time in both clocks. Repeated if the thread was preempted in between.
Anchor take_anchor() {
  Anchor best{};
  uint64_t width = UINT64_MAX;
  for (int i = 0; i < 4 && width > 2000; ++i) {
    const uint64_t before = ticks_now();
    const uint64_t ns = monotonic_ns();
    const uint64_t after = ticks_now();
    if (after - before < width) {
      width = after - before;
      best = {before + width / 2, ns};
    }
  }
  return best;
}

void unmap(void* place, size_t bytes) {
  const Mapping all = mapping_around(place, bytes);
  munmap(all.begin, all.bytes);
}

// The errno to report to the user for a spool that was not created.
int error_of(Loss why) {
  switch (why) {
    case Loss::no_memory:
      return ENOMEM;
    case Loss::no_descriptor:
      return EMFILE;
    case Loss::file_size_limit:
      return EFBIG;
    case Loss::unreachable:
      return ENOENT;
    default:
      return ENOSPC;
  }
}

}  // namespace

uint64_t monotonic_ns() {
  struct timespec now {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

// ---- the lane -------------------------------------------------------------------------------------------------

void Lane::enter(BlockHeader* block, uint64_t place, uint32_t used) {
  block_ = block;
  place_ = place;
  anchor_ticks_ = block->anchor_ticks;
  payload_ = reinterpret_cast<std::byte*>(block) + kBlockHeaderBytes;
  used_ = used;
  capacity_ = kBlockPayloadBytes;
}

bool Lane::next_block(size_t bytes) {
  if (writer_ == nullptr) return false;
  if (bytes > kBlockPayloadBytes) {
    writer_->count(Loss::truncated_text);
    return false;
  }
  const int error_of_the_program = errno;
  finish();
  if (blocks_ == 0 && writer_->take_left_over(*this, bytes)) {
    errno = error_of_the_program;
    return true;
  }
  uint64_t place = 0;
  BlockHeader* block = writer_->claim(place);
  errno = error_of_the_program;
  if (block == nullptr) {
    const uint8_t why = writer_->stopped_by_.load(std::memory_order_relaxed);
    if (why != 0) writer_->count(Loss{why});
    return false;
  }
  const Anchor anchor = take_anchor();
  block->lane = number_;
  block->os_thread = os_thread_;
  block->number = blocks_++;
  block->anchor_ticks = anchor.ticks;
  block->anchor_ns = anchor.ns;
  // Last: a block without the magic was claimed and never begun.
  std::atomic_ref<uint32_t>(block->magic).store(kBlockMagic, std::memory_order_release);
  enter(block, place, 0);
  return true;
}

void Lane::finish() {
  BlockHeader* block = std::exchange(block_, nullptr);
  used_ = capacity_ = 0;
  if (block == nullptr) return;
  // Not `used_`: it may include bytes that an interrupted call counted but did not commit.
  block->checksum = checksum_of(payload_, block->committed.load(std::memory_order_relaxed));
  block->finished.store(1, std::memory_order_release);
  writer_->release(block, place_);
}

void Lane::leave() {
  if (block_ == nullptr) return;
  if (!writer_->keep_left_over({block_, place_, used_})) return finish();
  block_ = nullptr;
  used_ = capacity_ = 0;
}

// ---- the spool ------------------------------------------------------------------------------------------------

int SpoolWriter::open(const char* path, const SpoolLimits& limits) {
  if (const int error = file_.create(path); error != 0) return error;
  max_blocks_ = limits.max_bytes > kSpoolHeaderBytes ? (limits.max_bytes - kSpoolHeaderBytes) / kBlockBytes : 0;
  if (max_blocks_ == 0) max_blocks_ = 1;
  most_on_disk_ = max_blocks_;
  if (limits.is_ring) max_blocks_ = kMostRingBlocks;

  Loss why{};
  const auto give_up = [&] {
    close();
    file_.remove();
    return error_of(why);
  };
  header_ = static_cast<SpoolHeader*>(file_.extend(0, kSpoolHeaderBytes, why));
  if (header_ == nullptr) return give_up();
  const size_t table = ((max_blocks_ - 1) / kChunkBlocks + 1) * sizeof(Chunk);
  void* chunks = mmap(nullptr, table, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (chunks == MAP_FAILED) {
    why = Loss::no_memory;
    return give_up();
  }
  chunks_ = static_cast<Chunk*>(chunks);  // a zero chunk is not mapped yet
  can_grow_ = true;

  const Anchor anchor = take_anchor();
  struct timespec wall {};
  clock_gettime(CLOCK_REALTIME, &wall);
  header_->major = kSpoolMajor;
  header_->minor = kSpoolMinor;
  header_->block_bytes = kBlockBytes;
  header_->pid = uint32_t(getpid());
  header_->parent_pid = uint32_t(getppid());
  header_->wall_ns = uint64_t(wall.tv_sec) * 1'000'000'000 + uint64_t(wall.tv_nsec);
  header_->epoch_ns = limits.epoch_ns != 0 ? limits.epoch_ns : anchor.ns;
  header_->start_ticks = anchor.ticks;
  header_->start_ns = anchor.ns;
  if (!grow(1, true)) {
    why = Loss{stopped_by_.load(std::memory_order_relaxed)};
    return give_up();
  }
  std::atomic_ref<uint64_t>(header_->magic).store(kSpoolMagic, std::memory_order_release);
  return 0;
}

void SpoolWriter::attach(Lane& lane, uint32_t os_thread) {
  lane = Lane();
  lane.writer_ = this;
  lane.os_thread_ = os_thread;
  lane.number_ = lanes_.fetch_add(1, std::memory_order_relaxed) + 1;
}

void SpoolWriter::count(Loss loss, uint64_t how_many) {
  const auto kind = static_cast<size_t>(loss);
  if (header_ == nullptr || kind >= std::size(header_->lost)) return;
  uint64_t never = 0;
  header_->lost_since_ticks[kind].compare_exchange_strong(never, ticks_now(), std::memory_order_relaxed);
  header_->lost[kind].fetch_add(how_many, std::memory_order_relaxed);
}

void SpoolWriter::memory_ran_out() {
  if (header_ != nullptr) header_->out_of_memory.fetch_add(1, std::memory_order_release);
}

bool SpoolWriter::is_enough(uint64_t steps) const {
  const uint64_t last = header_ != nullptr ? header_->stop_after_steps.load(std::memory_order_relaxed) : 0;
  return last != 0 && steps >= last;
}

void SpoolWriter::refuse(Loss why) {
  uint8_t none = 0;
  stopped_by_.compare_exchange_strong(none, static_cast<uint8_t>(why), std::memory_order_relaxed);
  stop();
}

BlockHeader* SpoolWriter::claim(uint64_t& place) {
  if (stopped() || header_ == nullptr) return nullptr;
  place = header_->claimed_blocks.fetch_add(1, std::memory_order_acq_rel);
  if (place >= kClosed) return nullptr;
  uint64_t ready = ready_blocks_.load(std::memory_order_acquire);
  if (place >= ready) {
    if (!grow(place + 1, true)) return nullptr;
    ready = ready_blocks_.load(std::memory_order_acquire);
  }
  if (place + kChunkBlocks / 4 >= ready) grow(ready + 1, false);  // ahead of time, so that threads rarely wait

  std::byte* chunk = chunks_[place / kChunkBlocks].address.load(std::memory_order_acquire);
  // Its pages are faulted in on write: faulting them in at once (MADV_POPULATE_WRITE) measured slower.
  return reinterpret_cast<BlockHeader*>(chunk + place % kChunkBlocks * kBlockBytes);
}

uint64_t SpoolWriter::chunk_bytes(uint64_t chunk) const {
  return std::min(kChunkBlocks, max_blocks_ - chunk * kChunkBlocks) * kBlockBytes;
}

// Makes `blocks` ready. Without `wait`: only if no other thread is growing the file, and a failure does not stop the
// recording yet, because ready blocks remain.
bool SpoolWriter::grow(uint64_t blocks, bool wait) {
  if (!wait && blocks > max_blocks_) return false;
  // Fails in a signal handler that interrupted this thread's own growth: that record is lost, later ones are not.
  const SpoolGuard guard(growth_, wait ? growth_.lock() : growth_.try_lock());
  if (!guard) return false;
  while (ready_blocks_.load(std::memory_order_relaxed) < blocks) {
    if (stopped()) return false;
    Loss why = Loss::size_limit;
    if (blocks <= max_blocks_ && grow_by_a_chunk(why)) continue;
    if (wait) refuse(why);
    return false;
  }
  return true;
}

// Whether the spool may have this many blocks, not counting released ones.
bool SpoolWriter::has_room(uint64_t blocks) const {
  return blocks <= most_on_disk_ || blocks - most_on_disk_ <= header_->released_blocks.load(std::memory_order_relaxed);
}

bool SpoolWriter::grow_by_a_chunk(Loss& why) {
  const uint64_t ready = ready_blocks_.load(std::memory_order_relaxed);
  const uint64_t chunk = ready / kChunkBlocks, bytes = chunk_bytes(chunk);
  why = Loss::size_limit;
  if (!has_room(ready + bytes / kBlockBytes)) return false;
  void* place = file_.extend(kSpoolHeaderBytes + ready * kBlockBytes, bytes, why);
  if (place == nullptr) return false;
  chunks_[chunk].address.store(static_cast<std::byte*>(place), std::memory_order_release);
  ready_blocks_.store(ready + bytes / kBlockBytes, std::memory_order_release);
  return true;
}

// Unmaps a finished block that no lane owns, so that its pages do not count as the program's memory. They stay in the
// page cache.
void SpoolWriter::release(BlockHeader* block, uint64_t place) {
  if (chunks_ == nullptr) return;
  madvise(block, kBlockBytes, MADV_DONTNEED);
  Chunk& chunk = chunks_[place / kChunkBlocks];
  const uint64_t bytes = chunk_bytes(place / kChunkBlocks);
  if (chunk.finished.fetch_add(1, std::memory_order_acq_rel) + 1 < bytes / kBlockBytes) return;
  // Clear the address before the unmap: a child that is forked in between must not use the range.
  if (std::byte* address = chunk.address.exchange(nullptr, std::memory_order_acq_rel)) unmap(address, bytes);
}

// ---- blocks of threads that ended -----------------------------------------------------------------------------

bool SpoolWriter::keep_left_over(const LeftOver& left) {
  if (stopped() || left.used + kLeastLeftOver > kBlockPayloadBytes) return false;
  const SpoolGuard guard(left_lock_, left_lock_.lock());
  if (!guard || stopped() || left_count_ == kMostLeftOvers) return false;
  left_[left_count_++] = left;
  return true;
}

bool SpoolWriter::take_left_over(Lane& lane, size_t bytes) {
  if (stopped()) return false;
  const SpoolGuard guard(left_lock_, left_lock_.lock());
  if (!guard || stopped()) return false;
  for (size_t i = left_count_; i-- > 0;) {
    const LeftOver left = left_[i];
    if (left.used + sizeof(LaneRecord) + bytes > kBlockPayloadBytes) continue;
    left_[i] = left_[--left_count_];
    lane.enter(left.block, left.place, left.used);
    constexpr auto kWords = static_cast<uint16_t>(sizeof(LaneRecord) / 8);
    return lane.write(LaneRecord{{RecordKind::lane, 0, kWords, lane.number_}, lane.os_thread_, lane.blocks_++});
  }
  return false;
}

void SpoolWriter::finish_left_overs() {
  const SpoolGuard guard(left_lock_, left_lock_.lock(kPatience));
  if (!guard) return;  // these blocks keep no checksum, as after a crash
  while (left_count_ > 0) {
    const LeftOver left = left_[--left_count_];
    Lane lane;
    lane.writer_ = this;
    lane.enter(left.block, left.place, left.used);
    lane.finish();
  }
}

// ---- the end --------------------------------------------------------------------------------------------------

void SpoolWriter::finish(std::optional<int> exit_code) {
  if (header_ == nullptr) return;
  stop();
  finish_left_overs();
  // Without the lock the file is being extended, perhaps by this thread below a signal handler: do not shorten it.
  const SpoolGuard guard(growth_, growth_.lock(kPatience));
  if (!can_grow_) return;
  uint64_t kept = 0;
  if (guard) {
    can_grow_ = false;
    // No block may be claimed past the new end of the file. First raise the claim counter, so that every claim fails.
    // Then limit the ready blocks. Only then restore the true count.
    const uint64_t claimed = header_->claimed_blocks.fetch_add(kClosed, std::memory_order_acq_rel) % kClosed;
    kept = std::min(claimed, ready_blocks_.load(std::memory_order_relaxed));
    ready_blocks_.store(kept, std::memory_order_release);
    header_->claimed_blocks.store(kept, std::memory_order_release);
  }
  end_clock();
  if (exit_code) header_->exit_code = (static_cast<uint32_t>(*exit_code) & 0xff) + 1;  // as a parent process sees it
  header_->state.store(static_cast<uint32_t>(SpoolState::finished), std::memory_order_release);
  if (guard) file_.cut(kSpoolHeaderBytes + kept * kBlockBytes);
}

void SpoolWriter::end_clock() {
  const Anchor anchor = take_anchor();
  header_->end_ticks = anchor.ticks;
  header_->end_ns = anchor.ns;
}

void SpoolWriter::replaced(bool is_replaced) {
  if (header_ == nullptr) return;
  auto from = static_cast<uint32_t>(is_replaced ? SpoolState::recording : SpoolState::replaced);
  const auto to = static_cast<uint32_t>(is_replaced ? SpoolState::replaced : SpoolState::recording);
  if (is_replaced && header_->state.load(std::memory_order_relaxed) == from) end_clock();
  header_->state.compare_exchange_strong(from, to, std::memory_order_release);
}

void SpoolWriter::abandon_in_child() {
  stopped_by_.store(0, std::memory_order_relaxed);
  stop();
  if (header_ == nullptr) return;
  header_->forked_children.fetch_add(1, std::memory_order_relaxed);
  // The child shares the mapping: its inherited lanes must not write to the parent's blocks.
  const auto make_private = [](void* place, size_t bytes) {
    const Mapping all = mapping_around(place, bytes);
    [[maybe_unused]] void* same = mmap(all.begin, all.bytes, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  };
  make_private(header_, kSpoolHeaderBytes);
  for (uint64_t chunk = 0; chunk * kChunkBlocks < ready_blocks_.load(std::memory_order_relaxed); ++chunk) {
    std::byte* address = chunks_[chunk].address.load(std::memory_order_relaxed);
    if (address != nullptr) make_private(address, chunk_bytes(chunk));
  }
  can_grow_ = false;
  // The owners of these locks do not exist in the child.
  growth_.unlock();
  left_lock_.unlock();
}

void SpoolWriter::close() {
  stop();
  can_grow_ = false;
  const uint64_t chunks = chunks_ != nullptr ? (max_blocks_ - 1) / kChunkBlocks + 1 : 0;
  for (uint64_t chunk = 0; chunk < chunks; ++chunk) {
    std::byte* address = chunks_[chunk].address.load(std::memory_order_relaxed);
    if (address != nullptr) unmap(address, chunk_bytes(chunk));
  }
  if (chunks_ != nullptr) munmap(chunks_, chunks * sizeof(Chunk));
  if (header_ != nullptr) munmap(header_, kSpoolHeaderBytes);
  chunks_ = nullptr;
  header_ = nullptr;
}

}  // namespace tapelens::trace
