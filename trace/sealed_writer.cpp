// See sealed_writer.h.
#include "trace/sealed_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>

#include "trace/checksum.h"

namespace tapelens::trace {
namespace {

void append(std::vector<std::byte>& to, const void* bytes, size_t count) {
  const auto* from = static_cast<const std::byte*>(bytes);
  to.insert(to.end(), from, from + count);
}

void append_item(std::vector<std::byte>& directory, ItemTag tag, const void* bytes, size_t count) {
  const ItemHeader header{static_cast<uint32_t>(tag), static_cast<uint32_t>(count)};
  append(directory, &header, sizeof(header));
  append(directory, bytes, count);
  directory.resize((directory.size() + 7) / 8 * 8);
}

// An item's size has 32 bits, so a larger array needs several items.
template <class Entry>
void append_array(std::vector<std::byte>& directory, ItemTag tag, const std::vector<Entry>& entries) {
  constexpr size_t kMost = (size_t{1} << 30) / sizeof(Entry);
  for (size_t from = 0; from < entries.size(); from += kMost) {
    const size_t count = std::min(kMost, entries.size() - from);
    append_item(directory, tag, entries.data() + from, count * sizeof(Entry));
  }
}

}  // namespace

SealedWriter::~SealedWriter() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  unlink(part_.c_str());
}

Error SealedWriter::failed(const char* doing) const {
  const char* fix = error_ == ENOSPC || error_ == EDQUOT || error_ == EFBIG
                        ? "free some space, or choose another place with -o"
                        : "choose another place with -o";
  return {name_ + ": " + doing + ": " + std::strerror(error_) + ": " + fix};
}

Status SealedWriter::open(const std::string& path, uint32_t mode, const std::string& name) {
  path_ = path;
  name_ = name.empty() ? path : name;
  mode_ = mode;
  // A new file with a random name: at a predictable name, another user can put a link to one of the user's files.
  std::string part = name.empty() ? path + ".XXXXXX.part" : path;
  const int made = name.empty() ? mkostemps(part.data(), 5, O_CLOEXEC)
                                : ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  file_ = made >= 0 ? fdopen(made, "wb") : nullptr;
  if (file_ == nullptr) {
    error_ = errno;
    if (made >= 0) {
      close(made);
      unlink(part.c_str());
    }
    return failed("cannot be written");
  }
  part_ = part;
  std::setvbuf(file_, nullptr, _IOFBF, size_t{1} << 20);
  SealedHeader header{kSealedMagic, kSealedVersion, kSealedNeedsReader, 0, 0};
  header.checksum = checksum_of(&header, offsetof(SealedHeader, checksum));
  write(&header, sizeof(header));
  return Done{};
}

void SealedWriter::write(const void* bytes, size_t count) {
  if (error_ == 0 && count > 0 && std::fwrite(bytes, 1, count, file_) != count) error_ = errno != 0 ? errno : EIO;
  offset_ += count;
}

void SealedWriter::write_chunk(const ColumnKey& key, uint32_t process, const void* values, size_t rows) {
  ChunkEntry entry{};
  const auto stored = encoder_.encode(key, values, rows, entry);
  entry.table = static_cast<uint8_t>(key.table);
  entry.column = key.number;
  entry.process = process;
  entry.offset = offset_;
  write(stored.data(), stored.size());
  chunks_.push_back(entry);
}

void SealedWriter::write_end(const std::vector<std::byte>& directory) {
  SealedFooter footer{};
  footer.directory_offset = offset_;
  footer.directory_bytes = directory.size();
  footer.directory_checksum = checksum_of(directory.data(), directory.size());
  footer.file_bytes = offset_ + directory.size() + sizeof(footer);
  footer.checksum = checksum_of(&footer, offsetof(SealedFooter, checksum));
  footer.magic = kSealedEndMagic;
  write(directory.data(), directory.size());
  write(&footer, sizeof(footer));
}

Status SealedWriter::finish(const std::string& command, int64_t duration_ns, uint64_t events,
                            const std::vector<ProcessSummary>& processes, const Summarize& summarize) {
  std::map<std::pair<uint32_t, uint8_t>, std::map<uint8_t, uint64_t>> columns;
  for (const ChunkEntry& chunk : chunks_) columns[{chunk.process, chunk.table}][chunk.column] += chunk.rows;
  std::vector<RowsItem> rows;
  for (const auto& [table, counts] : columns) {
    for (const auto& [column, count] : counts) {
      if (count == counts.begin()->second) continue;
      return Error{name_ + ": columns " + std::to_string(counts.begin()->first) + " and " + std::to_string(column) +
                   " of table " + std::to_string(table.second) + " have different lengths: this is a bug of Tapelens"};
    }
    rows.push_back({table.first, table.second, counts.begin()->second});
  }

  std::vector<std::byte> directory;
  append_item(directory, ItemTag::command, command.data(), command.size());
  const TotalsItem totals{duration_ns, events};
  append_item(directory, ItemTag::totals, &totals, sizeof(totals));
  for (const ProcessSummary& process : processes) {
    const uint32_t exit_code = process.exit_code ? *process.exit_code + 1U : 0;
    const ProcessItem item{process.pid,     process.parent_pid, process.rank,   process.finished,
                           process.wall_ns, exit_code,          process.running};
    append_item(directory, ItemTag::process, &item, sizeof(item));
  }
  append_array(directory, ItemTag::rows, rows);
  append_array(directory, ItemTag::chunks, chunks_);

  const uint64_t directory_offset = offset_;
  write_end(directory);
  // Flush first: bytes that a failed write drops from the buffer would let fclose() succeed.
  if (error_ == 0 && std::fflush(file_) != 0) error_ = errno;
  if (summarize && error_ == 0) {
    const std::string summary = summarize(part_);
    if (!summary.empty() && summary.size() <= kMostSummaryBytes &&
        std::fseek(file_, static_cast<long>(directory_offset), SEEK_SET) == 0) {
      append_item(directory, ItemTag::summary, summary.data(), summary.size());
      offset_ = directory_offset;
      write_end(directory);  // longer than the bytes that it overwrites
    }
  }

  if (fchmod(fileno(file_), mode_) != 0 && error_ == 0) error_ = errno;
  if (std::fclose(std::exchange(file_, nullptr)) != 0 && error_ == 0) error_ = errno;
  if (error_ == 0 && part_ != path_ && std::rename(part_.c_str(), path_.c_str()) != 0) error_ = errno;
  if (error_ == 0) return Done{};
  unlink(part_.c_str());
  return failed("could not be written to the end");
}

}  // namespace tapelens::trace
