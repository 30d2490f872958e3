// Reads a sealed recording: a memory-mapped file whose columns are decoded when asked for.
#pragma once

#include <memory>
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
  int32_t rank = -1;      // RANK of torchrun, -1 outside of it
  bool finished = false;  // false: it was killed, or crashed
  uint64_t wall_ns = 0;   // since 1970, when it began to record
};

class Recording {
 public:
  // Every checksum of the file is verified here: what opens can be read. Errors are for the user (exit code 3).
  static Result<Recording> open(const std::string& path);
  Recording(Recording&&) noexcept;
  Recording& operator=(Recording&&) noexcept;
  ~Recording();

  // Facts of the whole recording, as the recorder wrote them.
  std::string_view command() const;  // as typed, shell-quoted
  Time duration() const;
  uint64_t events() const;  // records in the spools, interned ones aside
  uint64_t file_bytes() const;
  std::span<const ProcessSummary> processes() const;

  uint64_t rows(Table table, ProcessIndex process) const;  // shared tables: any process

  // The column's values with a row 0 (zero) put before the first: `column[id.value]`. Empty tables give one row.
  template <class T>
  std::vector<T> column(Column<T> key, ProcessIndex process = {}) const {
    std::vector<T> values(rows(key.table, process) + 1);
    decode(key, process, values.data() + 1);
    return values;
  }

 private:
  struct Mapped;
  explicit Recording(std::unique_ptr<Mapped> mapped);
  void decode(const ColumnKey& key, ProcessIndex process, void* values) const;  // a column that is absent: zeros
  std::unique_ptr<Mapped> mapped_;
};

}  // namespace tapelens::trace
