// Reads a sealed recording: a memory-mapped file whose columns are decoded on demand.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/result.h"
#include "trace/schema.h"
#include "trace/types.h"

namespace tapelens::trace {

struct ProcessSummary {
  uint32_t pid = 0;
  uint32_t parent_pid = 0;
  int32_t rank = -1;      // in the default process group, or torchrun's RANK; -1: not known
  bool finished = false;  // false: the process was killed, crashed, or still ran
  uint64_t wall_ns = 0;   // since 1970, when it began to record
  std::optional<uint8_t> exit_code;
  bool running = false;  // it still ran when the file was made. Older files do not say so
};

// A table that contradicts itself or the directory. It is left out, and reads as empty.
struct LeftOutTable {
  Table table{};
  ProcessIndex process;
  std::string why;
};

class Recording {
 public:
  // Verifies every checksum of the file, and that its columns are not larger than such a file can hold. Errors are for
  // the user (exit code 3).
  static Result<Recording> open(const std::string& path);
  Recording(Recording&&) noexcept;
  Recording& operator=(Recording&&) noexcept;
  ~Recording();

  // Properties of the whole recording, as the recorder wrote them.
  std::string_view command() const;  // as typed, shell-quoted
  Time duration() const;
  uint64_t events() const;  // records in the spools, without interned ones
  uint64_t file_bytes() const;
  std::span<const ProcessSummary> processes() const;

  uint64_t rows(Table table, ProcessIndex process) const;  // shared tables: any process
  std::span<const LeftOutTable> left_out() const;

  // The column's values after a row 0 (zero), so that `column[id.value]` works. An empty table returns one row. A
  // column that is absent, or that cannot be decoded although its checksum is right, is all zeros.
  template <class T>
  std::vector<T> column(Column<T> key, ProcessIndex process = {}) const {
    std::vector<T> values;
    if (!read(key, values, process)) values.assign(values.size(), 0);
    return values;
  }
  // The same, but returns false if the column cannot be decoded.
  template <class T>
  bool read(Column<T> key, std::vector<T>& values, ProcessIndex process = {}) const {
    values.assign(rows(key.table, process) + 1, 0);
    return decode(key, process, values.data() + 1);
  }

 private:
  struct Mapped;
  explicit Recording(std::unique_ptr<Mapped> mapped);
  bool decode(const ColumnKey& key, ProcessIndex process, void* values) const;
  std::unique_ptr<Mapped> mapped_;
};

// The summary that a sealed file stores (SealOptions::summarize), read without the columns. Verifies header, directory
// and footer, and does not read chunks. Empty if the file has no summary, as in older versions. Errors are those of
// Recording::open.
Result<std::string> read_summary(const std::string& path);

}  // namespace tapelens::trace
