// Encodes and decodes one chunk of one column. Used by sealed_writer.cpp and recording.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trace/schema.h"
#include "trace/sealed_format.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace tapelens::trace {

class ColumnEncoder {
 public:
  ColumnEncoder();
  // Fills in width, transform, planes, encoding, rows, base, stored_bytes and checksum of `entry`; the bytes are valid
  // until the next call. `values` has 1 to kChunkRows values of key.width bytes.
  std::span<const std::byte> encode(const ColumnKey& key, const void* values, size_t rows, ChunkEntry& entry);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
  std::vector<uint8_t> planes_, packed_;
};

class ColumnDecoder {
 public:
  ColumnDecoder();
  // Returns false if `stored` contradicts the entry. Values must have room for entry.rows of entry.width bytes.
  bool decode(const ChunkEntry& entry, const std::byte* stored, void* values);

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
  std::vector<uint8_t> planes_;
};

// Whether an entry is consistent, including its size in the file. Readers check this before they decode.
bool is_plausible(const ChunkEntry& entry, const std::byte* stored);

}  // namespace tapelens::trace
