// The writer's side of a spool. Runs inside the recorded process: libc and xxhash only, nothing throws, no lock is
// held but while the file grows, and space on disk is reserved before it is mapped.
#include "trace/spool_writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <iterator>

#include "trace/checksum.h"

namespace tapelens::trace {
namespace {

constexpr uint64_t kChunkBlocks = 128;  // 8 MiB
// Past every real number of blocks: whoever claims after the spool was closed is refused.
constexpr uint64_t kClosed = uint64_t{1} << 40;

struct Anchor {
  uint64_t ticks, ns;
};

// One moment in both clocks. Taken again if the thread was preempted in between.
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

bool write_zeros(int file, uint64_t offset, uint64_t bytes) {
  static const char zeros[16384] = {};
  while (bytes > 0) {
    const ssize_t written = pwrite(file, zeros, bytes < sizeof(zeros) ? bytes : sizeof(zeros), off_t(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    offset += uint64_t(written);
    bytes -= uint64_t(written);
  }
  return true;
}

// Reserves space on disk for `bytes` at `offset`, the present end of the file; errno on failure. A page that is
// mapped without its space would be a SIGBUS in the user's program once the disk is full.
bool reserve_on_disk(int file, uint64_t offset, uint64_t bytes) {
  // Growing past RLIMIT_FSIZE raises SIGXFSZ, which would kill the program.
  struct rlimit limit {};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && offset + bytes > limit.rlim_cur) {
    errno = EFBIG;
    return false;
  }
  int answer;
  do {
    answer = fallocate(file, 0, off_t(offset), off_t(bytes));
  } while (answer != 0 && errno == EINTR);
  if (answer != 0 && (errno == EOPNOTSUPP || errno == ENOSYS)) answer = write_zeros(file, offset, bytes) ? 0 : -1;
  if (answer == 0) return true;
  const int why = errno;
  // What was reserved of it goes back: the program may need it. A failure changes nothing for the spool.
  if (ftruncate(file, off_t(offset)) != 0) errno = why;
  errno = why;
  return false;
}

void* map_shared(int file, uint64_t offset, uint64_t bytes) {
  void* place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, off_t(offset));
  return place == MAP_FAILED ? nullptr : place;
}

}  // namespace

uint64_t monotonic_ns() {
  struct timespec now {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

// ---- the lane -------------------------------------------------------------------------------------------------

bool Lane::next_block(size_t bytes) {
  if (writer_ == nullptr) return false;
  if (bytes > kBlockPayloadBytes) {
    writer_->count(Loss::truncated_text);
    return false;
  }
  finish();
  const int error_of_the_program = errno;
  BlockHeader* block = writer_->claim();
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
  // Last: a block without it was claimed and never begun.
  std::atomic_ref<uint32_t>(block->magic).store(kBlockMagic, std::memory_order_release);
  block_ = block;
  payload_ = reinterpret_cast<std::byte*>(block) + kBlockHeaderBytes;
  capacity_ = kBlockPayloadBytes;
  return true;
}

void Lane::finish() {
  if (block_ != nullptr) {
    block_->checksum = checksum_of(payload_, used_);
    block_->finished.store(1, std::memory_order_release);
  }
  block_ = nullptr;
  payload_ = nullptr;
  used_ = capacity_ = 0;
}

// ---- the spool ------------------------------------------------------------------------------------------------

int SpoolWriter::open(const char* path, const SpoolLimits& limits) {
  file_ = ::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file_ < 0) return errno;
  max_blocks_ = limits.max_bytes > kSpoolHeaderBytes ? (limits.max_bytes - kSpoolHeaderBytes) / kBlockBytes : 0;
  if (max_blocks_ == 0) max_blocks_ = 1;

  const auto give_up = [&](int why) {
    close();
    unlink(path);
    return why != 0 ? why : EIO;
  };
  if (!reserve_on_disk(file_, 0, kSpoolHeaderBytes)) return give_up(errno);
  header_ = static_cast<SpoolHeader*>(map_shared(file_, 0, kSpoolHeaderBytes));
  if (header_ == nullptr) return give_up(errno);
  const size_t table = ((max_blocks_ - 1) / kChunkBlocks + 1) * sizeof(*chunks_);
  void* chunks = mmap(nullptr, table, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (chunks == MAP_FAILED) return give_up(errno);
  chunks_ = static_cast<std::atomic<std::byte*>*>(chunks);  // zero bytes are null pointers

  const Anchor anchor = take_anchor();
  struct timespec wall {};
  clock_gettime(CLOCK_REALTIME, &wall);
  header_->version = kSpoolVersion;
  header_->block_bytes = kBlockBytes;
  header_->pid = uint32_t(getpid());
  header_->parent_pid = uint32_t(getppid());
  header_->wall_ns = uint64_t(wall.tv_sec) * 1'000'000'000 + uint64_t(wall.tv_nsec);
  header_->epoch_ns = limits.epoch_ns != 0 ? limits.epoch_ns : anchor.ns;
  header_->start_ticks = anchor.ticks;
  header_->start_ns = anchor.ns;
  if (!grow(1, true)) {
    const Loss why{stopped_by_.load(std::memory_order_relaxed)};
    return give_up(why == Loss::no_memory ? ENOMEM : ENOSPC);
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

void SpoolWriter::refuse(Loss why) {
  uint8_t none = 0;
  stopped_by_.compare_exchange_strong(none, static_cast<uint8_t>(why), std::memory_order_relaxed);
  stop();
}

BlockHeader* SpoolWriter::claim() {
  if (stopped() || header_ == nullptr) return nullptr;
  const uint64_t number = header_->claimed_blocks.fetch_add(1, std::memory_order_acq_rel);
  if (number >= kClosed) return nullptr;
  uint64_t ready = ready_blocks_.load(std::memory_order_acquire);
  if (number >= ready) {
    if (!grow(number + 1, true)) return nullptr;
    ready = ready_blocks_.load(std::memory_order_acquire);
  }
  if (number + kChunkBlocks / 4 >= ready) grow(ready + 1, false);  // ahead of time, so that threads seldom wait

  std::byte* chunk = chunks_[number / kChunkBlocks].load(std::memory_order_acquire);
  // Its pages come as they are written to: faulted in at once (MADV_POPULATE_WRITE) they were measured to cost more.
  return reinterpret_cast<BlockHeader*>(chunk + number % kChunkBlocks * kBlockBytes);
}

// Sees to it that `blocks` are ready. Without `wait`: only if no other thread is at it, and a failure stops nothing
// yet, since the blocks that are ready can still be used.
bool SpoolWriter::grow(uint64_t blocks, bool wait) {
  std::unique_lock lock(growth_, std::defer_lock);
  if (wait) {
    lock.lock();
  } else if (blocks > max_blocks_ || !lock.try_lock()) {
    return false;
  }
  while (ready_blocks_.load(std::memory_order_relaxed) < blocks) {
    if (stopped()) return false;
    if (blocks > max_blocks_) {
      if (wait) refuse(Loss::size_limit);
      return false;
    }
    if (!grow_by_a_chunk()) {
      if (wait) refuse(errno == ENOMEM ? Loss::no_memory : Loss::disk_full);
      return false;
    }
  }
  return true;
}

bool SpoolWriter::grow_by_a_chunk() {
  const uint64_t ready = ready_blocks_.load(std::memory_order_relaxed);
  const uint64_t blocks = std::min(kChunkBlocks, max_blocks_ - ready);
  const uint64_t offset = kSpoolHeaderBytes + ready * kBlockBytes;
  if (!reserve_on_disk(file_, offset, blocks * kBlockBytes)) return false;
  void* place = map_shared(file_, offset, blocks * kBlockBytes);
  if (place == nullptr) {
    errno = ENOMEM;
    return false;
  }
  chunks_[ready / kChunkBlocks].store(static_cast<std::byte*>(place), std::memory_order_release);
  ready_blocks_.store(ready + blocks, std::memory_order_release);
  return true;
}

void SpoolWriter::finish() {
  if (header_ == nullptr || file_ < 0) return;
  const std::lock_guard lock(growth_);
  stop();
  // No block may be claimed past the end that the file is cut to. First every claim is refused by its number, then by
  // what is ready, and only then the true number is put back.
  const uint64_t claimed = header_->claimed_blocks.fetch_add(kClosed, std::memory_order_acq_rel) % kClosed;
  const uint64_t kept = std::min(claimed, ready_blocks_.load(std::memory_order_relaxed));
  ready_blocks_.store(kept, std::memory_order_release);
  header_->claimed_blocks.store(kept, std::memory_order_release);
  const Anchor anchor = take_anchor();
  header_->end_ticks = anchor.ticks;
  header_->end_ns = anchor.ns;
  header_->state.store(static_cast<uint32_t>(SpoolState::finished), std::memory_order_release);
  // A file that stays longer than needed is no loss.
  [[maybe_unused]] const int cut = ftruncate(file_, off_t(kSpoolHeaderBytes + kept * kBlockBytes));
  ::close(file_);
  file_ = -1;
}

void SpoolWriter::abandon_in_child() {
  stopped_by_.store(0, std::memory_order_relaxed);
  stop();
  if (header_ == nullptr) return;
  header_->forked_children.fetch_add(1, std::memory_order_relaxed);
  // The child shares the mapping: what its inherited lanes write must not reach the parent's blocks.
  const auto make_private = [](void* place, size_t bytes) {
    [[maybe_unused]] void* same =
        mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  };
  make_private(header_, kSpoolHeaderBytes);
  for (uint64_t first = 0; first < max_blocks_; first += kChunkBlocks) {
    std::byte* chunk = chunks_[first / kChunkBlocks].load(std::memory_order_relaxed);
    if (chunk == nullptr) break;
    make_private(chunk, std::min(kChunkBlocks, max_blocks_ - first) * kBlockBytes);
  }
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

void SpoolWriter::close() {
  stop();
  if (file_ >= 0) ::close(file_);
  file_ = -1;
  for (uint64_t first = 0; chunks_ != nullptr && first < max_blocks_; first += kChunkBlocks) {
    std::byte* chunk = chunks_[first / kChunkBlocks].load(std::memory_order_relaxed);
    if (chunk == nullptr) break;
    munmap(chunk, std::min(kChunkBlocks, max_blocks_ - first) * kBlockBytes);
  }
  if (chunks_ != nullptr) munmap(chunks_, ((max_blocks_ - 1) / kChunkBlocks + 1) * sizeof(*chunks_));
  if (header_ != nullptr) munmap(header_, kSpoolHeaderBytes);
  chunks_ = nullptr;
  header_ = nullptr;
}

}  // namespace tapelens::trace
