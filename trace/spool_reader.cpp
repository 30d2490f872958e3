// See spool_reader.h.
#include "trace/spool_reader.h"

#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "trace/checksum.h"
#include "trace/regular_file.h"
#include "trace/whole_record.h"

namespace tapelens::trace {
namespace {

// An empty file has a null mapping.
template <class Mapped>
bool map(const RegularFile& file, Mapped& mapped) {
  struct stat facts {};
  if (fstat(file.descriptor(), &facts) != 0) return false;
  mapped.inode = facts.st_ino;
  if (file.bytes() == 0) return true;
  void* place = mmap(nullptr, file.bytes(), PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (place == MAP_FAILED) return false;
  mapped.bytes = static_cast<const std::byte*>(place);
  mapped.size = file.bytes();
  return true;
}

std::string version_text(unsigned major, unsigned minor) { return std::to_string(major) + "." + std::to_string(minor); }

}  // namespace

std::string older_path(const std::string& spool) {
  constexpr std::string_view kExtension = ".spool";
  return (spool.ends_with(kExtension) ? spool.substr(0, spool.size() - kExtension.size()) : spool) + ".older";
}

std::string part_path(const std::string& older) { return older + ".part"; }

Result<SpoolReader> SpoolReader::open(const std::string& path) {
  for (int i = 0;; ++i) {
    auto reader = open_once(path);
    // Blocks that were removed meanwhile exist only in the file that replaced the one read before.
    struct stat now {};
    const uint64_t inode = lstat(older_path(path).c_str(), &now) == 0 ? now.st_ino : 0;
    if (!reader || i == 8 || inode == reader->older_.inode) return reader;
  }
}

Result<SpoolReader> SpoolReader::open_once(const std::string& path) {
  const auto failed = [&](const std::string& what, const char* fix) { return Error{path + ": " + what + ": " + fix}; };
  SpoolReader reader;
  const auto older = RegularFile::open(older_path(path));
  auto file = RegularFile::open(path);
  if (!file) return failed("cannot be read: " + file.error().message, "check its permissions");
  if (file->bytes() < kSpoolHeaderBytes)
    return failed("offset " + std::to_string(file->bytes()) + ": too short for a spool",
                  "its process ended before it recorded anything");
  if (!map(*file, reader.spool_))
    return failed(std::string("cannot be mapped: ") + std::strerror(errno), "free some memory");

  while (flock(file->descriptor(), LOCK_SH) != 0 && errno == EINTR) {
  }
  const auto* header = reinterpret_cast<const SpoolHeader*>(reader.spool_.bytes);
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
  // 256 and above: no writer stores such a code.
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

  if (older) {
    if (!map(*older, reader.older_)) return failed("its older steps cannot be mapped", "free some memory");
    reader.read_older();
  }

  // Threads may have claimed more blocks than there was room for; the surplus was never begun.
  const uint64_t in_file = (reader.spool_.size - kSpoolHeaderBytes) / kBlockBytes;
  const uint64_t claimed = header->claimed_blocks.load(std::memory_order_acquire);
  const uint64_t blocks = reader.claimed_ = std::min(in_file, claimed);
  if (state == SpoolState::finished && claimed > in_file)
    reader.torn_blocks_ += claimed - in_file;  // the file was
                                               // truncated
  for (uint64_t i = 0; i < blocks; ++i) {
    // A sparse file can have terabytes of holes: skip blocks that were never written, without a read.
    if (i % kBlocksBetweenHoles == 0) {
      const off_t data = lseek(file->descriptor(), static_cast<off_t>(kSpoolHeaderBytes + i * kBlockBytes), SEEK_DATA);
      if (data < 0 && errno == ENXIO) break;
      if (data > 0) i = std::max(i, (static_cast<uint64_t>(data) - kSpoolHeaderBytes) / kBlockBytes);
      if (i >= blocks) break;
    }
    reader.read_block(reader.spool_.bytes + kSpoolHeaderBytes + i * kBlockBytes, false);
  }
  reader.order_lanes();
  reader.locked_ = file->release();
  return reader;
}

SpoolReader::SpoolReader(SpoolReader&& other) noexcept
    : spool_(std::exchange(other.spool_, {})),
      older_(std::exchange(other.older_, {})),
      locked_(std::exchange(other.locked_, -1)),
      said_of_older_(std::move(other.said_of_older_)),
      reached_(std::move(other.reached_)),
      left_out_(std::move(other.left_out_)),
      on_disk_(other.on_disk_),
      claimed_(other.claimed_),
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
  for (const Mapped& file : {spool_, older_}) {
    if (file.bytes != nullptr) munmap(const_cast<std::byte*>(file.bytes), file.size);
  }
  if (locked_ >= 0) ::close(locked_);
}

bool SpoolReader::reads_alone() const { return flock(locked_, LOCK_EX | LOCK_NB) == 0; }

// ---- the file of older steps ------------------------------------------------------------------------------------

// The file was renamed when it was complete. Invalid content means that it was damaged or forged later.
void SpoolReader::read_older() {
  const auto* header = reinterpret_cast<const SpoolHeader*>(older_.bytes);  // null: the file is empty
  const bool is_ours = older_.size >= kSpoolHeaderBytes && header->magic == kOlderMagic &&
                       header->major == kSpoolMajor && header->minor <= kSpoolMinor && header->pid == facts_.pid &&
                       header->wall_ns == facts_.wall_ns;
  const uint64_t blocks = is_ours ? header->claimed_blocks.load(std::memory_order_relaxed) : 0;
  if (!is_ours || blocks != (older_.size - kSpoolHeaderBytes) / kBlockBytes) {
    ++torn_blocks_;
    return;
  }
  for (uint64_t i = 0; i < blocks; ++i) read_block(older_.bytes + kSpoolHeaderBytes + i * kBlockBytes, true);
  const auto& steps = interned(RecordKind::older_steps);
  if (steps.empty()) {  // unknown which events of the spool its events replace
    ++torn_blocks_;
    return;
  }
  const auto& said = *reinterpret_cast<const OlderStepsRecord*>(steps.back());
  said_of_older_ = Older{{}, said.until, said.steps, said.header.id};
  for (const auto* record : interned(RecordKind::older_peak))
    said_of_older_->peaks.push_back(reinterpret_cast<const OlderPeakRecord*>(record));
  for (const auto* record : interned(RecordKind::older_lane)) {
    const auto& lane = *reinterpret_cast<const OlderLaneRecord*>(record);
    reached_[record->id] = {lane.piece, lane.bytes};
  }
}

SpoolReader::Reached SpoolReader::reached(uint32_t lane) const {
  const auto at = reached_.find(lane);
  return at != reached_.end() ? at->second : Reached{};
}

std::optional<uint64_t> SpoolReader::place_of(const void* record) const {
  const auto* at = static_cast<const std::byte*>(record);
  if (at < spool_.bytes || at >= spool_.bytes + spool_.size) return std::nullopt;
  return (static_cast<uint64_t>(at - spool_.bytes) - kSpoolHeaderBytes) / kBlockBytes;
}

// Whether a finished block has only older events; then the older file has its names, too.
bool SpoolReader::is_left_out(const BlockHeader& header, const std::byte* payload, uint32_t committed) const {
  if (header.finished.load(std::memory_order_acquire) == 0 || header.number >= reached(header.lane).piece) return false;
  for (uint32_t at = 0; at < committed;) {
    const auto* record = reinterpret_cast<const RecordHeader*>(payload + at);
    const size_t bytes = size_t{record->words} * 8;
    if (bytes == 0 || bytes > committed - at || !is_whole(record, bytes)) return false;
    if (record->kind == RecordKind::lane &&
        reinterpret_cast<const LaneRecord*>(record)->number >= reached(record->id).piece)
      return false;
    at += static_cast<uint32_t>(bytes);
  }
  return true;
}

// ---- blocks -------------------------------------------------------------------------------------------------------

void SpoolReader::read_block(const std::byte* at, bool is_older) {
  const auto* header = reinterpret_cast<const BlockHeader*>(at);
  if (header->magic == 0) {
    // A thread claimed it and did not begin it, or a signal stopped the thread inside the header. If it has committed
    // bytes, its header was overwritten.
    if (is_older || header->committed.load(std::memory_order_acquire) != 0) ++torn_blocks_;
    return;
  }
  on_disk_ += is_older ? 0 : 1;
  const uint32_t committed = header->committed.load(std::memory_order_acquire);
  const bool is_finished = header->finished.load(std::memory_order_acquire) != 0;
  if (header->magic != kBlockMagic || header->lane == 0 || committed > kBlockPayloadBytes || committed % 8 != 0 ||
      (is_older && !is_finished)) {
    ++torn_blocks_;
    return;
  }
  const std::byte* payload = at + kBlockHeaderBytes;
  if (is_finished && header->checksum != checksum_of(payload, committed)) {
    ++torn_blocks_;
    return;
  }
  if (!is_older && is_left_out(*header, payload, committed)) {
    left_out_.push_back(*place_of(at));
    return;
  }
  committed_ += committed;
  anchors_.push_back({header->anchor_ticks, header->anchor_ns});
  if (!read_pieces(*header, payload, committed, is_older)) ++torn_blocks_;
}

// Adds the pieces of a block by lane, up to the first torn record; false if there is one.
bool SpoolReader::read_pieces(const BlockHeader& header, const std::byte* payload, uint32_t committed, bool is_older) {
  const bool is_finished = header.finished.load(std::memory_order_acquire) != 0;
  const auto piece_of = [&](uint32_t lane, uint32_t os_thread, uint32_t number, const std::byte* at) {
    return Block{lane, os_thread, number, 0, at, true, true, is_older, false, 0, 0, 0, header.anchor_ticks};
  };
  Block piece = piece_of(header.lane, header.os_thread, header.number, payload);
  uint32_t begin = 0, at = 0;
  const auto end_piece = [&](bool is_whole, bool is_closed) {
    piece.committed = at - begin;
    piece.whole = is_whole;
    piece.is_closed = is_closed;
    blocks_.push_back(piece);
  };
  while (at < committed) {
    const auto* record = reinterpret_cast<const RecordHeader*>(payload + at);
    const size_t bytes = size_t{record->words} * 8;
    if (bytes == 0 || bytes > committed - at || !is_whole(record, bytes)) {
      end_piece(false, is_finished);
      return false;
    }
    if (!is_known(record->kind)) {
      ++unknown_records_;
    } else if (is_event(record->kind)) {
      ++piece.events;
      piece.operators += full_kind(record->kind) == RecordKind::operator_begin;
    } else if (record->kind == RecordKind::lane) {
      end_piece(true, true);
      const auto& taken = *reinterpret_cast<const LaneRecord*>(record);
      begin = at;
      piece = piece_of(taken.header.id, taken.os_thread, taken.number, payload + at);
    } else {
      interned_[static_cast<size_t>(record->kind)].push_back(record);
    }
    at += static_cast<uint32_t>(bytes);
  }
  end_piece(true, is_finished);
  return true;
}

// Skips the first bytes of a piece, which are whole records.
void SpoolReader::pass_over(Block& block, uint32_t bytes) {
  uint32_t at = 0, events = 0, operators = 0;
  while (at < bytes && at < block.committed) {
    const auto* record = reinterpret_cast<const RecordHeader*>(block.payload + at);
    events += is_event(record->kind);
    operators += full_kind(record->kind) == RecordKind::operator_begin;
    at += uint32_t{record->words} * 8;
  }
  if (at != bytes) {  // not at the end of a record
    ++torn_blocks_;
    return;
  }
  block.payload += bytes;
  block.committed -= bytes;
  block.passed_over = bytes;
  block.events -= events;
  block.operators -= operators;
}

void SpoolReader::order_lanes() {
  std::erase_if(blocks_, [&](const Block& b) { return !b.is_older && b.number < reached(b.lane).piece; });
  std::stable_sort(blocks_.begin(), blocks_.end(), [](const Block& a, const Block& b) {
    if (a.lane != b.lane) return a.lane < b.lane;
    return a.is_older != b.is_older ? a.is_older : a.number < b.number;
  });
  for (size_t i = 0; i < blocks_.size(); ++i) {
    Block& block = blocks_[i];
    const bool is_first = i == 0 || blocks_[i - 1].lane != block.lane;
    const bool begins = is_first || blocks_[i - 1].is_older != block.is_older;
    if (is_first) lanes_.push_back({block.os_thread, i, 0});
    ++lanes_.back().blocks;
    const Reached reached_before = block.is_older ? Reached{} : reached(block.lane);
    const uint64_t expected = begins ? reached_before.piece : uint64_t{blocks_[i - 1].number} + 1;
    block.follows = block.number == expected && (is_first || blocks_[i - 1].whole);
    if (block.number == reached_before.piece && begins) pass_over(block, reached_before.bytes);
    events_ += block.events;
    operators_ += block.operators;
  }
}

std::vector<ClockAnchor> SpoolReader::anchors() const {
  std::vector<ClockAnchor> all = anchors_;
  all.push_back(facts_.start);
  if (facts_.end.ns != 0) all.push_back(facts_.end);
  return all;
}

}  // namespace tapelens::trace
