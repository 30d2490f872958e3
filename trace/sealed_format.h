// The layout of a sealed file. Written by sealed_writer.cpp, read by recording.cpp; docs/trace-format.md draws it.
//
// header | chunks, one after another | directory: items | footer. Every byte belongs to one of them, and each is
// covered by a checksum or has a fixed value. Opening a file therefore detects any change.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tapelens::trace {

inline constexpr uint64_t kSealedMagic = 0x534e454c45504154ULL;     // "TAPELENS"
inline constexpr uint64_t kSealedEndMagic = 0x444e454c45504154ULL;  // "TAPELEND"
inline constexpr uint32_t kSealedVersion = 2;
// The oldest reader version that can read this version's files. Raise it only if older readers would misread them.
inline constexpr uint32_t kSealedNeedsReader = 1;

struct SealedHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t needs_reader;
  uint64_t reserved;  // 0
  uint64_t checksum;  // checksum of the bytes before it
};
static_assert(sizeof(SealedHeader) == 32);

inline constexpr size_t kChunkRows = size_t{64} * 1024;

enum class ChunkEncoding : uint8_t { raw = 0, zstd = 1 };

// A run of rows of one column. In plain encoding each value is stored minus `base`. In delta encoding it is stored
// minus its predecessor and zigzagged, and the predecessor of the first value is `base`. The results are split into
// planes: all lowest bytes, all second bytes, ... Planes of only zeros are left out; `planes` marks the stored ones.
struct ChunkEntry {
  uint8_t table;
  uint8_t column;
  uint8_t width;
  uint8_t transform;
  uint8_t planes;    // bit i: plane i is stored
  uint8_t encoding;  // ChunkEncoding
  uint16_t reserved;
  uint32_t process;
  uint32_t rows;  // 1 to kChunkRows
  uint64_t base;
  uint64_t offset;  // in the file; chunks are in the order of their entries
  uint32_t stored_bytes;
  uint32_t reserved2;
  uint64_t checksum;  // checksum of the stored bytes
};
static_assert(sizeof(ChunkEntry) == 48);

enum class ItemTag : uint32_t { command = 1, totals = 2, process = 3, rows = 4, chunks = 5, summary = 6 };

// A larger summary is dropped. Only its writer and reader know its content: JSON, analyzer/ranks.
inline constexpr size_t kMostSummaryBytes = size_t{64} * 1024;

// An item of the directory: this, then `bytes` of payload, padded with zeros to 8. Unknown tags are skipped.
struct ItemHeader {
  uint32_t tag;
  uint32_t bytes;
};

struct TotalsItem {
  int64_t duration_ns;
  uint64_t events;
};

struct ProcessItem {
  uint32_t pid, parent_pid;
  int32_t rank;
  uint32_t finished;
  uint64_t wall_ns;
  uint32_t exit_code;  // plus 1; 0: not known. Older files end before it
  uint32_t running;    // 1: the process still ran when the file was made
};

struct RowsItem {    // an array of these is the payload
  uint32_t process;  // 0 for shared tables
  uint32_t table;
  uint64_t rows;
};

struct SealedFooter {
  uint64_t directory_offset;
  uint64_t directory_bytes;
  uint64_t directory_checksum;
  uint64_t file_bytes;
  uint64_t checksum;  // checksum of the bytes before it in the footer
  uint64_t magic;     // kSealedEndMagic
};
static_assert(sizeof(SealedFooter) == 48);

}  // namespace tapelens::trace
