// Splits a sealed file into parts and writes it again with correct offsets and checksums, so that tests and fuzzers
// reach the code behind the checksums.
#pragma once

#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/checksum.h"
#include "trace/column_codec.h"
#include "trace/schema.h"
#include "trace/sealed_format.h"

namespace tapelens::testing {

class SealedParts {
 public:
  struct Chunk {
    trace::ChunkEntry entry{};
    std::string stored;
  };
  struct Item {
    uint32_t tag;
    std::string payload;
  };
  std::vector<Chunk> chunks;  // in the order of the file
  std::vector<Item> items;    // the directory's items, without the chunks

  // None if the layout is not that of a sealed file; checksums are ignored.
  static std::optional<SealedParts> of(std::string_view file) {
    trace::SealedFooter footer;
    if (file.size() < sizeof(trace::SealedHeader) + sizeof(footer)) return std::nullopt;
    const uint64_t end = file.size() - sizeof(footer);
    std::memcpy(&footer, file.data() + end, sizeof(footer));
    if (footer.directory_offset > end) return std::nullopt;
    SealedParts parts;
    std::string entries;
    for (uint64_t at = footer.directory_offset; at + sizeof(trace::ItemHeader) <= end;) {
      trace::ItemHeader header;
      std::memcpy(&header, file.data() + at, sizeof(header));
      at += sizeof(header);
      if (header.bytes > end - at) return std::nullopt;
      const std::string_view payload = file.substr(at, header.bytes);
      if (header.tag == static_cast<uint32_t>(trace::ItemTag::chunks)) {
        entries += payload;
      } else {
        parts.items.push_back({header.tag, std::string(payload)});
      }
      at += (uint64_t{header.bytes} + 7) / 8 * 8;
    }
    for (size_t at = 0; at + sizeof(trace::ChunkEntry) <= entries.size(); at += sizeof(trace::ChunkEntry)) {
      Chunk chunk;
      std::memcpy(&chunk.entry, entries.data() + at, sizeof(chunk.entry));
      if (chunk.entry.offset > end || chunk.entry.stored_bytes > end - chunk.entry.offset) return std::nullopt;
      chunk.stored = file.substr(chunk.entry.offset, chunk.entry.stored_bytes);
      parts.chunks.push_back(std::move(chunk));
    }
    return parts;
  }

  std::string bytes() const {
    trace::SealedHeader header{trace::kSealedMagic, trace::kSealedVersion, trace::kSealedNeedsReader, 0, 0};
    header.checksum = trace::checksum_of(&header, offsetof(trace::SealedHeader, checksum));
    std::string file(as_text(header)), entries;
    for (const Chunk& chunk : chunks) {
      trace::ChunkEntry entry = chunk.entry;
      entry.offset = file.size();
      entry.stored_bytes = static_cast<uint32_t>(chunk.stored.size());
      entry.checksum = trace::checksum_of(chunk.stored.data(), chunk.stored.size());
      file += chunk.stored;
      entries += as_text(entry);
    }
    trace::SealedFooter footer{};
    footer.directory_offset = file.size();
    for (const Item& item : items) append(file, item.tag, item.payload);
    append(file, static_cast<uint32_t>(trace::ItemTag::chunks), entries);
    footer.directory_bytes = file.size() - footer.directory_offset;
    footer.directory_checksum = trace::checksum_of(file.data() + footer.directory_offset, footer.directory_bytes);
    footer.file_bytes = file.size() + sizeof(footer);
    footer.checksum = trace::checksum_of(&footer, offsetof(trace::SealedFooter, checksum));
    footer.magic = trace::kSealedEndMagic;
    return file += as_text(footer);
  }

  // Replaces the values of a column with one chunk by as many others.
  template <class T>
  void set(const trace::Column<T>& key, const std::vector<T>& values, uint32_t process = 0) {
    for (Chunk& chunk : chunks) {
      if (chunk.entry.table != static_cast<uint8_t>(key.table) || chunk.entry.column != key.number) continue;
      if (chunk.entry.process != process) continue;
      trace::ColumnEncoder encoder;
      const auto stored = encoder.encode(key, values.data(), values.size(), chunk.entry);
      chunk.stored.assign(reinterpret_cast<const char*>(stored.data()), stored.size());
    }
  }

 private:
  template <class Value>
  static std::string_view as_text(const Value& value) {
    return {reinterpret_cast<const char*>(&value), sizeof(value)};
  }
  static void append(std::string& file, uint32_t tag, std::string_view payload) {
    const trace::ItemHeader header{tag, static_cast<uint32_t>(payload.size())};
    file += as_text(header);
    file += payload;
    file.append((payload.size() + 7) / 8 * 8 - payload.size(), '\0');
  }
};

}  // namespace tapelens::testing
