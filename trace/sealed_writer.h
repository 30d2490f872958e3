// Writes a sealed file: columns in chunks, in the order of arrival, then the directory. Used by the sealer only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trace/column_codec.h"
#include "trace/recording.h"
#include "trace/result.h"
#include "trace/schema.h"
#include "trace/sealed_format.h"

namespace tapelens::trace {

// See SealOptions.
using Summarize = std::function<std::string(const std::string& file)>;

class SealedWriter {
 public:
  SealedWriter() = default;
  SealedWriter(const SealedWriter&) = delete;
  SealedWriter& operator=(const SealedWriter&) = delete;
  ~SealedWriter();  // removes an unfinished file

  // Writes to a new file with a random name beside `path`; finish() gives it permissions `mode` and replaces `path`.
  // With `name`, `path` is the unfinished file of an Output (trace/output.h) and is written directly; errors then use
  // `name`.
  Status open(const std::string& path, uint32_t mode = 0600, const std::string& name = {});
  // An error is kept until `finish`. All columns of a table must have the same number of rows in the end.
  void write_chunk(const ColumnKey& key, uint32_t process, const void* values, size_t rows);
  // On success the file is complete and in its place. `summarize`: see SealOptions.
  Status finish(const std::string& command, int64_t duration_ns, uint64_t events,
                const std::vector<ProcessSummary>& processes, const Summarize& summarize = {});
  uint64_t bytes() const { return offset_; }

 private:
  void write(const void* bytes, size_t count);
  void write_end(const std::vector<std::byte>& directory);
  Error failed(const char* doing) const;

  std::string path_, part_, name_;
  uint32_t mode_ = 0600;
  std::FILE* file_ = nullptr;
  int error_ = 0;
  uint64_t offset_ = 0;
  ColumnEncoder encoder_;
  std::vector<ChunkEntry> chunks_;
};

}  // namespace tapelens::trace
