// Opens and decodes a sealed file. Opening checks the whole file once.
#include "trace/recording.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <set>
#include <tuple>

#include "trace/checksum.h"
#include "trace/column_codec.h"
#include "trace/regular_file.h"
#include "trace/sealed_format.h"

namespace tapelens::trace {
namespace {

constexpr const char* kDamaged = "the file is damaged: copy it again, or record again";

// Repetitive columns take almost no space, so a small file may claim billions of rows. A row takes up to 64 bytes in
// memory. A byte of a real recording expands to 10 to 45 bytes, for a loop of one small operator.
constexpr uint64_t kBytesOfRow = 64;
constexpr uint64_t kMostExpansion = 1024;
constexpr uint64_t kAlwaysFine = uint64_t{64} << 20;

auto order_of(const ChunkEntry& entry) { return std::tuple(entry.table, entry.process, entry.column); }
auto table_of(const RowsItem& item) { return std::tuple(item.table, item.process); }

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

struct SealedFile {
  const std::byte* bytes = nullptr;
  size_t size = 0;
  std::string path, command, summary;
  TotalsItem totals{};
  std::vector<ProcessSummary> processes;
  std::vector<RowsItem> rows;      // in the order of table_of
  std::vector<ChunkEntry> chunks;  // in the order of order_of, those of a column in the order of rows
  std::vector<LeftOutTable> left_out;
  std::set<std::tuple<uint32_t, uint32_t>> unsound;  // also by table_of

  SealedFile() = default;
  SealedFile(const SealedFile&) = delete;
  SealedFile& operator=(const SealedFile&) = delete;
  ~SealedFile() {
    if (bytes != nullptr) munmap(const_cast<std::byte*>(bytes), size);
  }

  Error wrong(uint64_t offset, const std::string& what, const char* fix = kDamaged) const {
    return {path + ": offset " + std::to_string(offset) + ": " + what + ": " + fix};
  }
  Status map();
  bool is_snapshot() const;
  Result<uint64_t> check_ends();
  Status check();
  Status read_directory(uint64_t from, uint64_t to);
  Status read_item(ItemTag tag, uint64_t offset, size_t count);
  Status check_chunks(uint64_t directory_offset);
  void leave_out(const RowsItem& table, const std::string& why);
  void check_rows();
  Status check_size() const;
};

Status SealedFile::map() {
  const auto file = RegularFile::open(path);
  const auto unreadable = [&](const std::string& why) {
    return Error{path + ": cannot be read: " + why + ": give the path of a .tapelens file"};
  };
  if (!file) return unreadable(file.error().message);
  size = file->bytes();
  if (size < sizeof(SealedHeader))
    return wrong(size, "too short for a recording", "give the path of a .tapelens file, or record again");
  void* place = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file->descriptor(), 0);
  if (place == MAP_FAILED) return unreadable(std::strerror(errno));
  bytes = static_cast<const std::byte*>(place);
  return Done{};
}

// A pickle with the keys of a memory snapshot, in any protocol that PyTorch writes.
bool SealedFile::is_snapshot() const {
  const std::string_view begin(reinterpret_cast<const char*>(bytes), std::min<size_t>(size, 4096));
  if (!begin.starts_with('\x80') || begin[1] < 2 || begin[1] > 5) return false;
  return begin.find("segments") != std::string_view::npos || begin.find("device_traces") != std::string_view::npos;
}

// Checks header and footer, reads the directory, and returns its offset.
Result<uint64_t> SealedFile::check_ends() {
  const auto header = load<SealedHeader>(bytes);
  if (header.magic != kSealedMagic && is_snapshot()) {
    return Error{path + ": is a memory snapshot of PyTorch, not a recording: make one of it with tapelens import"};
  }
  if (header.magic != kSealedMagic)
    return wrong(0, "not a Tapelens recording, or its beginning is damaged", "give the path of a .tapelens file");
  if (header.checksum != checksum_of(&header, offsetof(SealedHeader, checksum)))
    return wrong(offsetof(SealedHeader, checksum), "the header's checksum does not match");
  if (header.needs_reader > kSealedVersion)
    return wrong(offsetof(SealedHeader, needs_reader),
                 "needs a reader of format version " + std::to_string(header.needs_reader) + ", this one is " +
                     std::to_string(kSealedVersion),
                 "use a newer tapelens");
  const uint64_t at = size - sizeof(SealedFooter);
  if (size < sizeof(SealedHeader) + sizeof(SealedFooter)) return wrong(size, "the file is cut off");
  const auto footer = load<SealedFooter>(bytes + at);
  if (footer.magic != kSealedEndMagic) return wrong(size, "the file is cut off or its end is damaged");
  if (footer.checksum != checksum_of(&footer, offsetof(SealedFooter, checksum)))
    return wrong(at, "the footer's checksum does not match");
  if (footer.file_bytes != size)
    return wrong(
        at, "the file has " + std::to_string(size) + " bytes, and should have " + std::to_string(footer.file_bytes));
  if (footer.directory_offset < sizeof(SealedHeader) || footer.directory_offset > at ||
      footer.directory_bytes != at - footer.directory_offset)
    return wrong(at, "the directory is not where the footer says");
  if (footer.directory_checksum != checksum_of(bytes + footer.directory_offset, footer.directory_bytes))
    return wrong(footer.directory_offset, "the directory's checksum does not match");
  if (Status status = read_directory(footer.directory_offset, at); !status) return status.error();
  return uint64_t{footer.directory_offset};
}

Status SealedFile::check() {
  const auto directory_offset = check_ends();
  if (!directory_offset) return directory_offset.error();
  if (Status status = check_chunks(*directory_offset); !status) return status;
  check_rows();
  return check_size();
}

Status SealedFile::read_directory(uint64_t from, uint64_t to) {
  for (uint64_t at = from; at < to;) {
    if (to - at < sizeof(ItemHeader)) return wrong(at, "an item of the directory is cut off");
    const auto header = load<ItemHeader>(bytes + at);
    const uint64_t padded = (uint64_t{header.bytes} + 7) / 8 * 8;
    if (padded > to - at - sizeof(ItemHeader)) return wrong(at, "an item of the directory is larger than it");
    if (Status status = read_item(ItemTag{header.tag}, at + sizeof(ItemHeader), header.bytes); !status) return status;
    at += sizeof(ItemHeader) + padded;
  }
  return Done{};
}

Status SealedFile::read_item(ItemTag tag, uint64_t offset, size_t count) {
  const std::byte* from = bytes + offset;
  const auto array = [&]<class Entry>(std::vector<Entry>& into) -> Status {
    if (count % sizeof(Entry) != 0) return wrong(offset, "an array of the directory has half an entry");
    for (size_t at = 0; at < count; at += sizeof(Entry)) into.push_back(load<Entry>(from + at));
    return Done{};
  };
  switch (tag) {
    case ItemTag::command:
      command.assign(reinterpret_cast<const char*>(from), count);
      return Done{};
    case ItemTag::totals:
      if (count < sizeof(TotalsItem)) return wrong(offset, "the totals are too short");
      totals = load<TotalsItem>(from);
      return Done{};
    case ItemTag::process: {
      if (count < offsetof(ProcessItem, exit_code)) return wrong(offset, "the facts of a process are too short");
      ProcessItem item{};
      memcpy(&item, from, std::min(count, sizeof(item)));
      ProcessSummary& process = processes.emplace_back();
      process = {item.pid, item.parent_pid, item.rank, item.finished != 0, item.wall_ns, {}, item.running == 1};
      if (item.exit_code - 1 <= UINT8_MAX) process.exit_code = static_cast<uint8_t>(item.exit_code - 1);
      return Done{};
    }
    case ItemTag::rows:
      return array(rows);
    case ItemTag::chunks:
      return array(chunks);
    case ItemTag::summary:
      if (count <= kMostSummaryBytes) summary.assign(reinterpret_cast<const char*>(from), count);
      return Done{};
  }
  return Done{};  // an item of a newer version
}

Status SealedFile::check_chunks(uint64_t directory_offset) {
  uint64_t offset = sizeof(SealedHeader);
  for (const ChunkEntry& chunk : chunks) {
    if (chunk.offset != offset || chunk.stored_bytes > directory_offset - offset)
      return wrong(offset, "a chunk is not where the directory says");
    const std::byte* stored = bytes + offset;
    if (chunk.checksum != checksum_of(stored, chunk.stored_bytes))
      return wrong(offset, "a chunk's checksum does not match (table " + std::to_string(chunk.table) + ", column " +
                               std::to_string(chunk.column) + ")");
    if (!is_plausible(chunk, stored))
      leave_out({chunk.process, chunk.table, 0},
                "a chunk of column " + std::to_string(chunk.column) + " contradicts the directory");
    offset += chunk.stored_bytes;
  }
  if (offset != directory_offset) return wrong(offset, "there is something between the chunks and the directory");
  return Done{};
}

// Keeps the first reason.
void SealedFile::leave_out(const RowsItem& table, const std::string& why) {
  if (unsound.insert(table_of(table)).second && table.table <= UINT8_MAX)
    left_out.push_back({Table{static_cast<uint8_t>(table.table)}, {table.process}, why});
}

// Leaves out each table that differs from the directory.
void SealedFile::check_rows() {
  std::stable_sort(chunks.begin(), chunks.end(), [](auto& a, auto& b) { return order_of(a) < order_of(b); });
  std::sort(rows.begin(), rows.end(), [](auto& a, auto& b) { return table_of(a) < table_of(b); });
  const auto less = [](auto& a, auto& b) { return table_of(a) < table_of(b); };
  std::vector<bool> has_columns(rows.size());
  for (size_t i = 0; i < chunks.size();) {
    const size_t first = i;
    const RowsItem key{chunks[first].process, chunks[first].table, 0};
    uint64_t count = 0;
    for (; i < chunks.size() && order_of(chunks[i]) == order_of(chunks[first]); ++i) {
      count += chunks[i].rows;
      if (chunks[i].width != chunks[first].width) leave_out(key, "a column changes its width");
    }
    const auto table = std::lower_bound(rows.begin(), rows.end(), key, less);
    if (table == rows.end() || table_of(*table) != table_of(key) || table->rows != count) {
      leave_out(key, "a column has not as many rows as its table");
    } else {
      has_columns[static_cast<size_t>(table - rows.begin())] = true;
    }
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].process >= std::max<size_t>(processes.size(), 1))
      leave_out(rows[i], "it belongs to a process that is not in the directory");
    if (rows[i].rows > UINT32_MAX) leave_out(rows[i], "it has more rows than an id can name");
    if (!has_columns[i]) leave_out(rows[i], "it has rows and no columns");
    if (i > 0 && table_of(rows[i]) == table_of(rows[i - 1])) leave_out(rows[i], "the directory names it twice");
  }
  if (unsound.empty()) return;
  const auto is_left_out = [&](const auto& of) { return unsound.contains({of.table, of.process}); };
  std::erase_if(rows, is_left_out);
  std::erase_if(chunks, is_left_out);
}

// Called before anything is decoded: memory use depends on the number of rows, not on the size of the file.
Status SealedFile::check_size() const {
  uint64_t needed = 0;
  for (const RowsItem& item : rows)
    needed += item.rows * (Table{static_cast<uint8_t>(item.table)} == Table::string_bytes ? 1 : kBytesOfRow);
  if (needed <= kAlwaysFine + kMostExpansion * size) return Done{};
  return wrong(
      size, "its tables would take " + std::to_string(needed >> 20) + " MiB, more than a file of this size can hold");
}

}  // namespace

struct Recording::Mapped : SealedFile {};

Result<Recording> Recording::open(const std::string& path) {
  auto mapped = std::make_unique<Mapped>();
  mapped->path = path;
  if (Status status = mapped->map(); !status) return status.error();
  if (Status status = mapped->check(); !status) return status.error();
  return Recording(std::move(mapped));
}

Result<std::string> read_summary(const std::string& path) {
  SealedFile mapped;
  mapped.path = path;
  if (Status status = mapped.map(); !status) return status.error();
  if (const auto checked = mapped.check_ends(); !checked) return checked.error();
  return std::move(mapped.summary);
}

Recording::Recording(std::unique_ptr<Mapped> mapped) : mapped_(std::move(mapped)) {}
Recording::Recording(Recording&&) noexcept = default;
Recording& Recording::operator=(Recording&&) noexcept = default;
Recording::~Recording() = default;

std::string_view Recording::command() const { return mapped_->command; }
Time Recording::duration() const { return {mapped_->totals.duration_ns}; }
uint64_t Recording::events() const { return mapped_->totals.events; }
uint64_t Recording::file_bytes() const { return mapped_->size; }
std::span<const ProcessSummary> Recording::processes() const { return mapped_->processes; }
std::span<const LeftOutTable> Recording::left_out() const { return mapped_->left_out; }

uint64_t Recording::rows(Table table, ProcessIndex process) const {
  const auto number = static_cast<uint8_t>(table);
  const RowsItem key{number < kFirstTableOfProcess ? 0 : process.value, number, 0};
  const auto at = std::lower_bound(mapped_->rows.begin(), mapped_->rows.end(), key,
                                   [](auto& a, auto& b) { return table_of(a) < table_of(b); });
  return at != mapped_->rows.end() && table_of(*at) == table_of(key) ? at->rows : 0;
}

bool Recording::decode(const ColumnKey& key, ProcessIndex process, void* values) const {
  ChunkEntry wanted{};
  wanted.table = static_cast<uint8_t>(key.table);
  wanted.process = wanted.table < kFirstTableOfProcess ? 0 : process.value;
  wanted.column = key.number;
  const auto [from, to] = std::equal_range(mapped_->chunks.begin(), mapped_->chunks.end(), wanted,
                                           [](auto& a, auto& b) { return order_of(a) < order_of(b); });
  thread_local ColumnDecoder decoder;  // most columns are much smaller than its buffers
  auto* place = static_cast<std::byte*>(values);
  for (auto chunk = from; chunk != to; ++chunk) {
    if (chunk->width != key.width) return true;  // another column with this number: treat it as absent
    if (!decoder.decode(*chunk, mapped_->bytes + chunk->offset, place)) return false;
    place += size_t{chunk->rows} * chunk->width;
  }
  return true;
}

}  // namespace tapelens::trace
