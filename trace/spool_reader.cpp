// See spool_reader.h.
#include "trace/spool_reader.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "trace/checksum.h"
#include "trace/regular_file.h"

namespace tapelens::trace {
namespace {

constexpr uint64_t kBlocksBetweenHoles = 16;

// Whether a record can have this many bytes, and what it says of its own tail fits into them.
bool is_whole(const RecordHeader* record, size_t bytes) {
  const RecordShape& shape = shape_of(record->kind);
  if (bytes < shape.bytes) return false;
  if (record->kind == RecordKind::lane) return record->id != 0;
  if (shape.element == 0) return true;
  const size_t tail = bytes - shape.bytes;
  return shape.count != nullptr ? tail >= shape.element * shape.count(record) : tail % shape.element == 0;
}

std::string version_text(unsigned major, unsigned minor) { return std::to_string(major) + "." + std::to_string(minor); }

}  // namespace

Result<SpoolReader> SpoolReader::open(const std::string& path) {
  const auto failed = [&](const std::string& what, const char* fix) { return Error{path + ": " + what + ": " + fix}; };
  const auto file = RegularFile::open(path);
  if (!file) return failed("cannot be read: " + file.error().message, "check its permissions");
  SpoolReader reader;
  reader.size_ = file->bytes();
  if (reader.size_ < kSpoolHeaderBytes)
    return failed("offset " + std::to_string(reader.size_) + ": too short for a spool",
                  "its process ended before it recorded anything");
  void* place = mmap(nullptr, reader.size_, PROT_READ, MAP_PRIVATE, file->descriptor(), 0);
  if (place == MAP_FAILED) return failed(std::string("cannot be mapped: ") + std::strerror(errno), "free some memory");
  reader.bytes_ = static_cast<const std::byte*>(place);

  const auto* header = reinterpret_cast<const SpoolHeader*>(reader.bytes_);
  if (header->magic != kSpoolMagic)
    return failed("offset 0: not a spool", "its process ended before it recorded anything");
  const bool is_older =
      header->major < kSpoolMajor || (header->major == kSpoolMajor && header->minor < kOldestSpoolMinor);
  const bool is_newer = header->major > kSpoolMajor || (header->major == kSpoolMajor && header->minor > kSpoolMinor);
  if (is_older || is_newer || header->block_bytes != kBlockBytes)
    return failed("offset 8: a spool of format version " + version_text(header->major, header->minor) +
                      ", this tapelens reads " + version_text(kSpoolMajor, kOldestSpoolMinor) + " to " +
                      version_text(kSpoolMajor, kSpoolMinor),
                  is_newer ? "seal it with the tapelens that recorded it, or a newer one"
                           : "seal it with the tapelens that recorded it");
  SpoolFacts& f = reader.facts_;
  f.pid = header->pid;
  f.parent_pid = header->parent_pid;
  f.wall_ns = header->wall_ns;
  f.epoch_ns = header->epoch_ns;
  const SpoolState state{header->state.load(std::memory_order_acquire)};
  f.finished = state == SpoolState::finished || state == SpoolState::replaced;
  // 256 and above: no such code is written.
  if (const uint32_t code = header->exit_code; state == SpoolState::finished && code - 1 <= UINT8_MAX) {
    f.exit_code = static_cast<uint8_t>(code - 1);
  }
  f.forked_children = header->forked_children.load(std::memory_order_relaxed);
  for (size_t i = 0; i < f.lost.size(); ++i) {
    f.lost[i] = header->lost[i].load(std::memory_order_relaxed);
    f.lost_since_ticks[i] = header->lost_since_ticks[i].load(std::memory_order_relaxed);
  }
  f.start = {header->start_ticks, header->start_ns};
  if (f.finished) f.end = {header->end_ticks, header->end_ns};

  // Threads may have claimed more blocks than there was room for; those were never begun.
  const uint64_t in_file = (reader.size_ - kSpoolHeaderBytes) / kBlockBytes;
  const uint64_t claimed = header->claimed_blocks.load(std::memory_order_acquire);
  const uint64_t blocks = std::min(in_file, claimed);
  if (state == SpoolState::finished && claimed > in_file) reader.torn_blocks_ += claimed - in_file;  // the file was cut
  for (uint64_t i = 0; i < blocks; ++i) {
    // A file can be terabytes of nothing: blocks of which nothing was ever written are passed over, unread.
    if (i % kBlocksBetweenHoles == 0) {
      const off_t data = lseek(file->descriptor(), static_cast<off_t>(kSpoolHeaderBytes + i * kBlockBytes), SEEK_DATA);
      if (data < 0 && errno == ENXIO) break;
      if (data > 0) i = std::max(i, (static_cast<uint64_t>(data) - kSpoolHeaderBytes) / kBlockBytes);
      if (i >= blocks) break;
    }
    reader.read_block(reader.bytes_ + kSpoolHeaderBytes + i * kBlockBytes, reader.anchors_);
  }
  reader.order_lanes();
  return reader;
}

SpoolReader::SpoolReader(SpoolReader&& other) noexcept
    : bytes_(std::exchange(other.bytes_, nullptr)),
      size_(other.size_),
      facts_(other.facts_),
      blocks_(std::move(other.blocks_)),
      lanes_(std::move(other.lanes_)),
      anchors_(std::move(other.anchors_)),
      interned_(std::move(other.interned_)),
      events_(other.events_),
      operators_(other.operators_),
      torn_blocks_(other.torn_blocks_),
      unknown_records_(other.unknown_records_),
      committed_(other.committed_) {}

SpoolReader::~SpoolReader() {
  if (bytes_ != nullptr) munmap(const_cast<std::byte*>(bytes_), size_);
}

void SpoolReader::read_block(const std::byte* at, std::vector<ClockAnchor>& anchors) {
  const auto* header = reinterpret_cast<const BlockHeader*>(at);
  if (header->magic == 0) {
    // Claimed by a thread that did not come to begin it, or that a signal stopped in the middle of its header. With
    // anything in it, its header was overwritten.
    if (header->committed.load(std::memory_order_acquire) != 0) ++torn_blocks_;
    return;
  }
  const uint32_t committed = header->committed.load(std::memory_order_acquire);
  if (header->magic != kBlockMagic || header->lane == 0 || committed > kBlockPayloadBytes || committed % 8 != 0) {
    ++torn_blocks_;
    return;
  }
  const std::byte* payload = at + kBlockHeaderBytes;
  if (header->finished.load(std::memory_order_acquire) != 0 && header->checksum != checksum_of(payload, committed)) {
    ++torn_blocks_;
    return;
  }
  committed_ += committed;
  anchors.push_back({header->anchor_ticks, header->anchor_ns});
  if (!read_pieces(*header, payload, committed)) ++torn_blocks_;
}

// Takes what each lane wrote into a block, up to the first record that is not whole; false if there is one.
bool SpoolReader::read_pieces(const BlockHeader& header, const std::byte* payload, uint32_t committed) {
  Block piece{header.lane, header.os_thread, header.number, 0, payload, true, true};
  uint32_t begin = 0, at = 0;
  const auto end_piece = [&](bool is_whole) {
    piece.committed = at - begin;
    piece.whole = is_whole;
    blocks_.push_back(piece);
  };
  while (at < committed) {
    const auto* record = reinterpret_cast<const RecordHeader*>(payload + at);
    const size_t bytes = size_t{record->words} * 8;
    if (bytes == 0 || bytes > committed - at || !is_whole(record, bytes)) {
      end_piece(false);
      return false;
    }
    if (!is_known(record->kind)) {
      ++unknown_records_;
    } else if (is_event(record->kind)) {
      ++events_;
      operators_ += record->kind == RecordKind::operator_begin;
    } else if (record->kind == RecordKind::lane) {
      end_piece(true);
      const auto& taken = *reinterpret_cast<const LaneRecord*>(record);
      begin = at;
      piece = {taken.header.id, taken.os_thread, taken.number, 0, payload + at, true, true};
    } else {
      interned_[static_cast<size_t>(record->kind)].push_back(record);
    }
    at += static_cast<uint32_t>(bytes);
  }
  end_piece(true);
  return true;
}

void SpoolReader::order_lanes() {
  std::stable_sort(blocks_.begin(), blocks_.end(), [](const Block& a, const Block& b) {
    return a.lane != b.lane ? a.lane < b.lane : a.number < b.number;
  });
  for (size_t i = 0; i < blocks_.size(); ++i) {
    Block& block = blocks_[i];
    const bool is_first = i == 0 || blocks_[i - 1].lane != block.lane;
    if (is_first) lanes_.push_back({block.os_thread, i, 0});
    ++lanes_.back().blocks;
    const uint64_t expected = is_first ? 0 : uint64_t{blocks_[i - 1].number} + 1;
    block.follows = block.number == expected && (is_first || blocks_[i - 1].whole);
  }
}

std::vector<ClockAnchor> SpoolReader::anchors() const {
  std::vector<ClockAnchor> all = anchors_;
  all.push_back(facts_.start);
  if (facts_.end.ns != 0) all.push_back(facts_.end);
  return all;
}

}  // namespace tapelens::trace
