// A column of some rows of a table in Arrow's columnar layout; arrow.h exports it without a copy. If the model already
// stores the column in this layout, `values` points into the model, and `owner` keeps the model alive.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tapelens::tables {

// words: one of a few texts, as an index into `strings`. boolean: one bit a row.
enum class Type : uint8_t { boolean, uint8, uint16, uint32, uint64, int32, int64, utf8, words };

// Texts one after another: text i is [begin[i], begin[i + 1]) of bytes.
struct Strings {
  std::vector<int32_t> begin = std::vector<int32_t>(1);
  std::string bytes;

  // Throws std::length_error if the bytes might reach 2 GiB, the limit of Arrow's utf8.
  void add(std::string_view text);
  size_t size() const { return begin.size() - 1; }
};

struct Column {
  Type type{};
  uint64_t rows = 0;
  std::shared_ptr<const void> owner;  // keeps `values` alive
  const void* values = nullptr;       // words: int32 indices into `strings`; utf8: null, the rows are `strings`
  std::vector<uint8_t> valid;         // a bit a row, lowest first; empty: no nulls
  uint64_t nulls = 0;
  std::shared_ptr<const Strings> strings;
};

// Bits one after another, the lowest bit of a byte first.
class Bits {
 public:
  explicit Bits(uint64_t count) : bytes((count + 7) / 8) {}
  void set(uint64_t at) { bytes[at / 8] = static_cast<uint8_t>(bytes[at / 8] | (1U << (at % 8))); }
  std::vector<uint8_t> bytes;
};

// The validity bitmap of a column.
class Valid {
 public:
  explicit Valid(uint64_t rows) : bits_(rows) {}
  void set(uint64_t row, bool is_valid) {
    if (is_valid) bits_.set(row);
    nulls_ += is_valid ? 0 : 1;
  }
  void finish(Column& column) {
    column.nulls = nulls_;
    if (nulls_ > 0) column.valid = std::move(bits_.bytes);
  }

 private:
  Bits bits_;
  uint64_t nulls_ = 0;
};

// The distinct texts of a column, each once.
class Words {
 public:
  int32_t place(std::string_view text);
  std::shared_ptr<const Strings> finish() { return std::move(strings_); }

 private:
  std::shared_ptr<Strings> strings_ = std::make_shared<Strings>();
  std::unordered_map<std::string, int32_t> places_;
};

}  // namespace tapelens::tables
