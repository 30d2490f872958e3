// See older_writer.h.
#include "trace/older_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "trace/checksum.h"

namespace tapelens::trace {
namespace {

bool write_all(int file, const void* bytes, size_t count) {
  const auto* at = static_cast<const std::byte*>(bytes);
  while (count > 0) {
    const ssize_t written = ::write(file, at, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    count -= static_cast<size_t>(written);
  }
  return true;
}

}  // namespace

void OlderWriter::finish_block() {
  if (blocks_.empty()) return;
  BlockHeader& header = blocks_.back()->header();
  header.committed.store(used_, std::memory_order_relaxed);
  header.checksum = checksum_of(blocks_.back()->bytes + kBlockHeaderBytes, used_);
  header.finished.store(1, std::memory_order_relaxed);
}

std::byte* OlderWriter::add_block(size_t bytes) {
  finish_block();
  blocks_.push_back(std::make_unique<Block>());  // zeros
  BlockHeader& header = blocks_.back()->header();
  header.magic = kBlockMagic;
  header.lane = lane_;
  header.os_thread = os_thread_;
  header.number = piece_++;
  header.anchor_ticks = anchor_.ticks;
  header.anchor_ns = anchor_.ns;
  used_ = static_cast<uint32_t>(bytes);
  return blocks_.back()->bytes + kBlockHeaderBytes;
}

std::byte* OlderWriter::reserve(size_t bytes) {
  if (used_ + bytes > kBlockPayloadBytes) return add_block(bytes);
  std::byte* place = blocks_.back()->bytes + kBlockHeaderBytes + used_;
  used_ += static_cast<uint32_t>(bytes);
  return place;
}

void OlderWriter::lane(uint32_t number, uint32_t os_thread) {
  lane_ = number;
  os_thread_ = os_thread;
  piece_ = 0;
  // If it does not fit, start a new block for the lane.
  if (used_ + sizeof(LaneRecord) > kBlockPayloadBytes) {
    add_block(0);
    return;
  }
  constexpr auto kWords = static_cast<uint16_t>(sizeof(LaneRecord) / 8);
  const LaneRecord takes{{RecordKind::lane, 0, kWords, number}, os_thread, piece_++};
  std::memcpy(reserve(sizeof(takes)), &takes, sizeof(takes));
}

void OlderWriter::record(const RecordHeader* record) {
  const size_t bytes = size_t{record->words} * 8;
  std::memcpy(reserve(bytes), record, bytes);
}

void OlderWriter::event(const RecordHeader* record, size_t bytes, uint64_t ticks) {
  std::byte* place = reserve(bytes);
  std::memcpy(place, record, bytes);
  reinterpret_cast<RecordHeader*>(place)->words = static_cast<uint16_t>(bytes / 8);
  reinterpret_cast<EventRecord*>(place)->ticks = ticks;
}

Status OlderWriter::finish(const std::string& path) {
  const std::string part = part_path(path);
  const auto failed = [&] {
    const Error error{part + ": cannot be written: " + std::strerror(errno)};
    unlink(part.c_str());
    return error;
  };
  unlink(part.c_str());  // left behind by a killed process
  const int file = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return failed();
  alignas(SpoolHeader) std::byte page[kSpoolHeaderBytes] = {};
  auto& header = *reinterpret_cast<SpoolHeader*>(page);
  header.magic = kOlderMagic;
  header.major = kSpoolMajor;
  header.minor = kSpoolMinor;
  header.block_bytes = kBlockBytes;
  header.pid = of_.pid;
  header.wall_ns = of_.wall_ns;
  header.claimed_blocks.store(blocks_.size(), std::memory_order_relaxed);
  finish_block();
  bool is_written = write_all(file, page, sizeof(page));
  for (const auto& block : blocks_) is_written = is_written && write_all(file, block->bytes, kBlockBytes);
  is_written = close(file) == 0 && is_written;
  if (!is_written || rename(part.c_str(), path.c_str()) != 0) return failed();
  return Done{};
}

}  // namespace tapelens::trace
