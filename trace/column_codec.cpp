// See column_codec.h. The loops are written so that the compiler vectorizes them.
#include "trace/column_codec.h"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "trace/checksum.h"

namespace tapelens::trace {
namespace {

constexpr int kLevel = 1;

template <class T>
T zigzag(T delta) {
  return static_cast<T>(static_cast<T>(delta << 1) ^ static_cast<T>(-static_cast<T>(delta >> (8 * sizeof(T) - 1))));
}

template <class T>
T unzigzag(T value) {
  return static_cast<T>(static_cast<T>(value >> 1) ^ static_cast<T>(-static_cast<T>(value & 1)));
}

// Writes the planes that are not all zeros, one after another, and returns their size in bytes.
template <class T>
size_t split(const T* values, size_t rows, Transform transform, ChunkEntry& entry, uint8_t* planes) {
  T turned[kChunkRows];
  T all = 0;
  if (transform == Transform::delta) {
    entry.base = values[0];
    turned[0] = 0;
    for (size_t i = 1; i < rows; ++i) {
      turned[i] = zigzag(static_cast<T>(values[i] - values[i - 1]));
      all |= turned[i];
    }
  } else {
    T least = values[0];
    for (size_t i = 1; i < rows; ++i) least = std::min(least, values[i]);
    entry.base = least;
    for (size_t i = 0; i < rows; ++i) {
      turned[i] = static_cast<T>(values[i] - least);
      all |= turned[i];
    }
  }
  uint8_t* place = planes;
  for (size_t plane = 0; plane < sizeof(T); ++plane) {
    const auto shift = 8 * plane;
    if ((all >> shift & 0xff) == 0) continue;
    entry.planes |= static_cast<uint8_t>(1U << plane);
    for (size_t i = 0; i < rows; ++i) place[i] = static_cast<uint8_t>(turned[i] >> shift);
    place += rows;
  }
  return static_cast<size_t>(place - planes);
}

template <class T>
void join(const uint8_t* planes, const ChunkEntry& entry, T* values) {
  const size_t rows = entry.rows;
  const uint8_t* place = planes;
  bool first = true;
  for (size_t plane = 0; plane < sizeof(T); ++plane) {
    if ((entry.planes >> plane & 1) == 0) continue;
    const auto shift = 8 * plane;
    if (first) {
      for (size_t i = 0; i < rows; ++i) values[i] = static_cast<T>(T{place[i]} << shift);
    } else {
      for (size_t i = 0; i < rows; ++i) values[i] |= static_cast<T>(T{place[i]} << shift);
    }
    first = false;
    place += rows;
  }
  if (first) std::memset(values, 0, rows * sizeof(T));
  const T base = static_cast<T>(entry.base);
  if (Transform{entry.transform} == Transform::delta) {
    T last = base;
    for (size_t i = 0; i < rows; ++i) {
      last = static_cast<T>(last + unzigzag(values[i]));
      values[i] = last;
    }
  } else {
    for (size_t i = 0; i < rows; ++i) values[i] = static_cast<T>(values[i] + base);
  }
}

size_t planes_bytes(const ChunkEntry& entry) { return static_cast<size_t>(std::popcount(entry.planes)) * entry.rows; }

}  // namespace

void ColumnEncoder::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }
void ColumnDecoder::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

ColumnEncoder::ColumnEncoder()
    : context_(ZSTD_createCCtx()), planes_(kChunkRows * 8), packed_(ZSTD_compressBound(kChunkRows * 8)) {
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
}

std::span<const std::byte> ColumnEncoder::encode(const ColumnKey& key, const void* values, size_t rows,
                                                 ChunkEntry& entry) {
  entry.width = key.width;
  entry.transform = static_cast<uint8_t>(key.transform);
  entry.rows = static_cast<uint32_t>(rows);
  entry.planes = 0;
  const auto split_as = [&]<class T>(T) {
    return split(static_cast<const T*>(values), rows, key.transform, entry, planes_.data());
  };
  size_t bytes = 0;
  switch (key.width) {
    case 1:
      bytes = split_as(uint8_t{});
      break;
    case 2:
      bytes = split_as(uint16_t{});
      break;
    case 4:
      bytes = split_as(uint32_t{});
      break;
    default:
      bytes = split_as(uint64_t{});
      break;
  }
  const uint8_t* stored = planes_.data();
  entry.encoding = static_cast<uint8_t>(ChunkEncoding::raw);
  if (bytes > 0) {
    const size_t packed = ZSTD_compress2(context_.get(), packed_.data(), packed_.size(), planes_.data(), bytes);
    if (!ZSTD_isError(packed) && packed < bytes) {
      entry.encoding = static_cast<uint8_t>(ChunkEncoding::zstd);
      stored = packed_.data();
      bytes = packed;
    }
  }
  entry.stored_bytes = static_cast<uint32_t>(bytes);
  entry.checksum = checksum_of(stored, bytes);
  return std::as_bytes(std::span(stored, bytes));
}

ColumnDecoder::ColumnDecoder() : context_(ZSTD_createDCtx()), planes_(kChunkRows * 8) {}

bool ColumnDecoder::decode(const ChunkEntry& entry, const std::byte* stored, void* values) {
  const auto* planes = reinterpret_cast<const uint8_t*>(stored);
  if (ChunkEncoding{entry.encoding} == ChunkEncoding::zstd) {
    const size_t bytes =
        ZSTD_decompressDCtx(context_.get(), planes_.data(), planes_.size(), stored, entry.stored_bytes);
    if (ZSTD_isError(bytes) || bytes != planes_bytes(entry)) return false;
    planes = planes_.data();
  }
  switch (entry.width) {
    case 1:
      join(planes, entry, static_cast<uint8_t*>(values));
      break;
    case 2:
      join(planes, entry, static_cast<uint16_t*>(values));
      break;
    case 4:
      join(planes, entry, static_cast<uint32_t*>(values));
      break;
    default:
      join(planes, entry, static_cast<uint64_t*>(values));
      break;
  }
  return true;
}

bool is_plausible(const ChunkEntry& entry, const std::byte* stored) {
  if (entry.width != 1 && entry.width != 2 && entry.width != 4 && entry.width != 8) return false;
  if (entry.rows == 0 || entry.rows > kChunkRows) return false;
  if (entry.transform > static_cast<uint8_t>(Transform::delta)) return false;
  if (entry.width < 8 && (entry.planes >> entry.width) != 0) return false;
  switch (ChunkEncoding{entry.encoding}) {
    case ChunkEncoding::raw:
      return entry.stored_bytes == planes_bytes(entry);
    case ChunkEncoding::zstd:
      return entry.planes != 0 && ZSTD_getFrameContentSize(stored, entry.stored_bytes) == planes_bytes(entry);
  }
  return false;
}

}  // namespace tapelens::trace
