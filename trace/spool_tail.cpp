// See spool_tail.h.
#include "trace/spool_tail.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "trace/whole_record.h"

namespace tapelens::trace {
namespace {

// Blocks that were claimed and not begun: the newest ones are looked at again.
constexpr size_t kMostNotBegun = 4096;
// Threads begin blocks in another order than they claim them: by less than this.
constexpr uint64_t kClaimNs = 50'000'000;

// Reads all of the bytes, or fails.
bool read_at(int file, void* to, size_t bytes, uint64_t offset) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = pread(file, at, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

uint64_t place_in_file(uint64_t block) { return kSpoolHeaderBytes + block * kBlockBytes; }

uint64_t size_of(int file) {
  struct stat facts {};
  return fstat(file, &facts) == 0 ? static_cast<uint64_t>(facts.st_size) : 0;
}

// The shared lock of all readers of a spool. Waits for the owner of an exclusive one, which releases blocks.
class ReadLock {
 public:
  explicit ReadLock(int file) : file_(file) {
    while (flock(file_, LOCK_SH) != 0 && errno == EINTR) {
    }
  }
  ~ReadLock() { flock(file_, LOCK_UN); }
  ReadLock(const ReadLock&) = delete;
  ReadLock& operator=(const ReadLock&) = delete;

 private:
  int file_;
};

}  // namespace

Result<SpoolTail> SpoolTail::open(const std::string& path) {
  auto file = RegularFile::open(path);
  if (!file) return Error{path + ": cannot be read: " + file.error().message + ": check its permissions"};
  SpoolTail tail(path, std::move(*file));
  if (!tail.read_spool_header())
    return Error{path + ": not a spool of this version of tapelens: use the tapelens that records the program"};
  return tail;
}

void SpoolTail::restart() {
  torn_ = late_ = bytes_read_ = scanned_ = passed_ = 0;
  not_begun_.clear();
  open_.clear();
  lanes_.clear();
  reached_.clear();
  older_read_ = older_seen_ = {};
  not_begun_at_first_ = 0;
  is_first_ = true;
  was_hole_skipped_ = was_released_ = false;
}

bool SpoolTail::read_spool_header() {
  alignas(SpoolHeader) std::byte bytes[sizeof(SpoolHeader)];
  if (!read_at(file_.descriptor(), bytes, sizeof(bytes), 0)) return false;
  const auto& header = *reinterpret_cast<const SpoolHeader*>(bytes);
  if (header.magic != kSpoolMagic || header.major != kSpoolMajor || header.minor > kSpoolMinor ||
      header.minor < kOldestSpoolMinor || header.block_bytes != kBlockBytes)
    return false;
  pid_ = header.pid;
  wall_ns_ = header.wall_ns;
  epoch_ns_ = header.epoch_ns;
  state_ = SpoolState{header.state.load(std::memory_order_relaxed)};
  if (const uint32_t code = header.exit_code; state_ == SpoolState::finished && code - 1 <= UINT8_MAX)
    exit_code_ = static_cast<uint8_t>(code - 1);
  lost_ = 0;
  for (size_t kind = 0; kind < std::size(header.lost); ++kind)
    lost_ += Loss{static_cast<uint8_t>(kind)} == Loss::forked_child ? 0 : header.lost[kind].load();
  claimed_ = header.claimed_blocks.load(std::memory_order_relaxed);
  start_ = {header.start_ticks, header.start_ns};
  if (header.end_ns != 0) note_anchor({header.end_ticks, header.end_ns});
  return true;
}

bool SpoolTail::poll(uint64_t until, SpoolVisitor& to) {
  const ReadLock lock(file_.descriptor());
  if (!read_spool_header()) return true;  // the file was cut: nothing more can be read
  // The caller was slower than `tapelens record --last`: the older file has what is still needed.
  if (was_released_) restart();
  const bool is_first = std::exchange(is_first_, false);
  if (is_first) {
    to.restart();
    read_older(to);
  }
  const uint64_t known = find_blocks();
  if (is_first) {
    not_begun_at_first_ = not_begun_.size();
    was_hole_skipped_ = false;
  }
  read_blocks(to);
  // A block that was never seen begun may have been released, with events that its lane never continues.
  if (const FileState older = state_of_older_file(); older != std::exchange(older_seen_, older))
    was_released_ = was_released_ || not_begun_.size() > not_begun_at_first_ || was_hole_skipped_;
  merge(std::min(until, known), to);
  return known == UINT64_MAX && !was_released_;
}

// ---- blocks -----------------------------------------------------------------------------------------------------

bool SpoolTail::read_header(int file, uint64_t place, Header& header) const {
  static_assert(sizeof(Header) <= kBlockHeaderBytes && offsetof(Header, finished) == offsetof(BlockHeader, finished));
  return read_at(file, &header, sizeof(header), place);
}

bool SpoolTail::begin_block(uint64_t place) {
  Header header{};
  if (!read_header(file_.descriptor(), place_in_file(place), header) || header.magic == 0) return false;
  if (header.magic != kBlockMagic || header.lane == 0) {
    ++torn_;
    return true;
  }
  note_anchor({header.anchor_ticks, header.anchor_ns});
  open_.push_back({place_in_file(place), header.lane, header.number, 0, header.anchor_ticks});
  return true;
}

// A block is claimed after its lane has finished the one before. So the blocks that were not begun are looked at again
// last: a lane that has a block then has all its earlier ones.
uint64_t SpoolTail::find_blocks() {
  const uint64_t size = size_of(file_.descriptor());
  const uint64_t in_file = size > kSpoolHeaderBytes ? (size - kSpoolHeaderBytes) / kBlockBytes : 0;
  const uint64_t blocks = std::min(claimed_, in_file);
  const uint64_t end = std::min(blocks, scanned_ + kBytesOfAPoll / kBlockBytes);
  for (uint64_t i = scanned_; i < end; ++i) {
    if (i % kBlocksBetweenHoles == 0 && blocks - i > kBlocksBetweenHoles) {  // holes: released, or never begun
      const off_t data = lseek(file_.descriptor(), static_cast<off_t>(place_in_file(i)), SEEK_DATA);
      const uint64_t first = data > 0 ? (static_cast<uint64_t>(data) - kSpoolHeaderBytes) / kBlockBytes : i;
      was_hole_skipped_ = was_hole_skipped_ || first > i;
      if (first > i) i = std::min(first, blocks);
      if (i >= end) {
        scanned_ = i;
        break;
      }
    }
    if (!begin_block(i) && blocks - i <= kMostNotBegun) not_begun_.push_back(i);
    scanned_ = i + 1;
  }
  std::vector<uint64_t> still;
  for (const uint64_t place : not_begun_)
    if (!begin_block(place)) still.push_back(place);
  not_begun_ = std::move(still);
  if (not_begun_.size() > kMostNotBegun) not_begun_.erase(not_begun_.begin(), not_begun_.end() - kMostNotBegun);
  if (scanned_ >= blocks) return UINT64_MAX;
  // All events of later blocks are later than the begin of the next one.
  for (uint64_t i = scanned_; i < std::min(blocks, scanned_ + kBlocksBetweenHoles); ++i) {
    Header header{};
    if (read_header(file_.descriptor(), place_in_file(i), header) && header.magic == kBlockMagic &&
        header.anchor_ns > kClaimNs)
      return std::min(header.anchor_ticks, ticks_at(header.anchor_ns - kClaimNs));
  }
  return passed_;
}

void SpoolTail::read_blocks(SpoolVisitor& to) {
  std::vector<Block> still;
  for (Block& block : open_)
    if (read_block(file_.descriptor(), block, false, to)) still.push_back(block);
  open_ = std::move(still);
}

bool SpoolTail::read_block(int file, Block& block, bool is_older, SpoolVisitor& to) {
  Header header{};
  if (!read_header(file, block.place, header)) return false;
  if (header.magic == 0 && !is_older && has_newer_older_file()) {  // released before it was read
    was_released_ = true;
    return false;
  }
  if (header.magic != kBlockMagic || header.committed > kBlockPayloadBytes || header.committed % 8 != 0 ||
      header.committed < block.read) {
    ++torn_;
    return false;
  }
  if (const uint32_t bytes = header.committed - block.read; bytes > 0) {
    std::vector<uint64_t> words(bytes / 8);
    if (!read_at(file, words.data(), bytes, block.place + kBlockHeaderBytes + block.read)) return false;
    block.read += bytes;
    bytes_read_ += bytes;
    if (!pass_records(block, words, is_older, to)) {
      ++torn_;
      return false;
    }
  }
  return header.finished == 0;
}

bool SpoolTail::pass_records(Block& block, const std::vector<uint64_t>& words, bool is_older, SpoolVisitor& to) {
  Piece* piece = nullptr;  // the piece that the block's current lane fills
  for (size_t at = 0; at < words.size();) {
    const auto* record = reinterpret_cast<const RecordHeader*>(&words[at]);
    if (record->words == 0 || record->words > words.size() - at || !is_whole(record, size_t{record->words} * 8))
      return false;
    if (record->kind == RecordKind::lane) {
      block.lane = record->id;
      block.number = as<LaneRecord>(record).number;
      piece = nullptr;
    }
    if (piece == nullptr) piece = &lanes_[block.lane].pieces[key_of(block.number, is_older)];
    if (is_event(record->kind)) {
      keep_event(record, block, is_older, *piece);
    } else if (is_known(record->kind) && record->kind != RecordKind::lane) {
      if (is_older && record->kind == RecordKind::older_lane) {
        const auto& lane = as<OlderLaneRecord>(record);
        reached_[record->id] = {lane.piece, lane.bytes};
      }
      to.interned(record);
    }
    piece->seen += size_t{record->words} * 8;
    at += record->words;
  }
  return true;
}

// Leaves out the events that the older file has.
void SpoolTail::keep_event(const RecordHeader* record, const Block& block, bool is_older, Piece& piece) {
  if (const auto reached = reached_.find(block.lane); !is_older && reached != reached_.end()) {
    const bool is_before = block.number < reached->second.piece ||
                           (block.number == reached->second.piece && piece.seen < reached->second.bytes);
    if (is_before) return;
  }
  const RecordHeader* full = full_form_->of(record, block.anchor_ticks);
  const auto* first = reinterpret_cast<const uint64_t*>(full);
  piece.words.insert(piece.words.end(), first, first + full->words);
}

// The file was renamed when it was complete. It has the layout of a spool, with one block after the other of each lane.
void SpoolTail::read_older(SpoolVisitor& to) {
  older_read_ = older_seen_ = state_of_older_file();
  const auto file = RegularFile::open(older_path(path_));
  if (!file) return;
  alignas(SpoolHeader) std::byte bytes[sizeof(SpoolHeader)];
  if (!read_at(file->descriptor(), bytes, sizeof(bytes), 0)) return;
  const auto& header = *reinterpret_cast<const SpoolHeader*>(bytes);
  if (header.magic != kOlderMagic || header.major != kSpoolMajor || header.pid != pid_ || header.wall_ns != wall_ns_) {
    ++torn_;
    return;
  }
  const uint64_t blocks =
      std::min(header.claimed_blocks.load(std::memory_order_relaxed),
               (file->bytes() - std::min<uint64_t>(file->bytes(), kSpoolHeaderBytes)) / kBlockBytes);
  for (uint64_t i = 0; i < blocks; ++i) {
    Header of{};
    if (!read_header(file->descriptor(), place_in_file(i), of) || of.magic != kBlockMagic || of.lane == 0) continue;
    Block block{place_in_file(i), of.lane, of.number, 0, of.anchor_ticks};
    read_block(file->descriptor(), block, true, to);
  }
}

SpoolTail::FileState SpoolTail::state_of_older_file() const {
  struct stat facts {};
  if (lstat(older_path(path_).c_str(), &facts) != 0) return {};
  return {facts.st_ino,
          static_cast<uint64_t>(facts.st_mtim.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(facts.st_mtim.tv_nsec)};
}

// ---- time -------------------------------------------------------------------------------------------------------

void SpoolTail::note_anchor(ClockAnchor anchor) {
  if (anchor.ticks > last_.ticks && anchor.ns > last_.ns) last_ = anchor;
}

namespace {
// Counters run at 1 MHz to 10 GHz; another value means that the anchors are too near, or damaged.
double ns_per_tick(ClockAnchor start, ClockAnchor last) {
  constexpr uint64_t kShortest = 1'000'000;
  if (last.ticks <= start.ticks || last.ns < start.ns + kShortest) return 0;
  const double slope = static_cast<double>(last.ns - start.ns) / static_cast<double>(last.ticks - start.ticks);
  return slope >= 0.1 && slope <= 1000 ? slope : 0;
}
}  // namespace

Time SpoolTail::time_of(uint64_t ticks) const {
  const double slope = ns_per_tick(start_, last_);
  const double since = static_cast<double>(static_cast<int64_t>(ticks - start_.ticks)) * (slope != 0 ? slope : 1.0);
  const double ns = static_cast<double>(static_cast<int64_t>(start_.ns - epoch_ns_)) + since;
  constexpr double kMost = 9.0e18;
  return {ns > 0 ? static_cast<int64_t>(std::min(ns, kMost)) : 0};
}

uint64_t SpoolTail::ticks_at(uint64_t ns) const {
  const double slope = ns_per_tick(start_, last_);
  const double ticks = static_cast<double>(static_cast<int64_t>(ns - start_.ns)) / (slope != 0 ? slope : 1.0);
  if (!(ticks > 0)) return start_.ticks;
  constexpr double kMost = 9.0e18;
  return start_.ticks + static_cast<uint64_t>(std::min(ticks, kMost));
}

// ---- the merge --------------------------------------------------------------------------------------------------

// Advances to the next event of a lane; false: none is known yet.
bool SpoolTail::settle(uint32_t number, Lane& lane, SpoolVisitor& to) {
  while (!lane.pieces.empty()) {
    const auto current = lane.pieces.begin();
    Piece& piece = current->second;
    const bool is_older = current->first < key_of(0, false);
    if (current->first < lane.next) {  // it is before what was passed on: a damaged spool
      lane.pieces.erase(current);
      continue;
    }
    if (piece.at < piece.words.size()) {
      if (current->first > lane.next && !is_older && lane.next != 0) {
        was_released_ = was_released_ || has_newer_older_file();
        to.gap(number);
      }
      lane.next = current->first;
      const auto* record = reinterpret_cast<const RecordHeader*>(&piece.words[piece.at]);
      if (record->kind != RecordKind::input_views) lane.ticks = std::max(lane.ticks, as<EventRecord>(record).ticks);
      return true;
    }
    if (lane.pieces.size() == 1) {
      if (piece.at != 0) {
        piece.words.clear();
        piece.at = 0;
      }
      return false;
    }
    if (is_older) {
      const auto reached = reached_.find(number);
      const bool is_last = std::next(current)->first >= key_of(0, false);
      lane.next = is_last ? key_of(reached != reached_.end() ? reached->second.piece : 0, false) : current->first + 1;
    } else {
      lane.next = current->first + 1;
    }
    lane.pieces.erase(current);
  }
  return false;
}

void SpoolTail::merge(uint64_t until, SpoolVisitor& to) {
  struct Next {
    uint64_t ticks;
    uint32_t number;
    Lane* lane;
  };
  const auto later = [](const Next& a, const Next& b) {
    return a.ticks != b.ticks ? a.ticks > b.ticks : a.number > b.number;
  };
  std::vector<Next> waiting;
  for (auto& [number, lane] : lanes_)
    if (settle(number, lane, to) && lane.ticks < until) waiting.push_back({lane.ticks, number, &lane});
  std::make_heap(waiting.begin(), waiting.end(), later);
  while (!waiting.empty()) {
    std::pop_heap(waiting.begin(), waiting.end(), later);
    Next next = waiting.back();
    waiting.pop_back();
    const uint64_t others = waiting.empty() ? UINT64_MAX : waiting.front().ticks;
    bool more = true;
    do {
      Piece& piece = next.lane->pieces.begin()->second;
      const auto* record = reinterpret_cast<const RecordHeader*>(&piece.words[piece.at]);
      if (next.ticks < passed_) ++late_;
      passed_ = std::max(passed_, next.ticks);
      to.event(record, next.number, next.ticks);
      piece.at += record->words;
      more = settle(next.number, *next.lane, to) && next.lane->ticks < until;
      next.ticks = next.lane->ticks;
    } while (more && (next.ticks < others || waiting.empty()));
    if (!more) continue;
    waiting.push_back(next);
    std::push_heap(waiting.begin(), waiting.end(), later);
  }
}

}  // namespace tapelens::trace
