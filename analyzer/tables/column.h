// A column of some rows of a table, laid out as Arrow's columnar format has it: what arrow.h hands on without a copy.
// Where the model has a column in that form already, `values` points into the model, which `owner` keeps.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tapelens::tables {

// words: texts of which there are few, as places in `strings`. boolean: one bit each.
enum class Type : uint8_t { boolean, uint8, uint16, uint32, uint64, int32, int64, utf8, words };

// Texts one after another: number i is [begin[i], begin[i + 1]) of bytes.
struct Strings {
  std::vector<int32_t> begin = std::vector<int32_t>(1);
  std::string bytes;

  // Throws std::length_error where it might come to 2 GiB, which is what Arrow's utf8 can have.
  void add(std::string_view text);
  size_t size() const { return begin.size() - 1; }
};

struct Column {
  Type type{};
  uint64_t rows = 0;
  std::shared_ptr<const void> owner;  // of `values`
  const void* values = nullptr;       // words: int32 places in `strings`; utf8: none, the rows are `strings`
  std::vector<uint8_t> valid;         // a bit a row, from the lowest; empty: there is no null
  uint64_t nulls = 0;
  std::shared_ptr<const Strings> strings;
};

// Bits one after another, the lowest of a byte first.
class Bits {
 public:
  explicit Bits(uint64_t count) : bytes((count + 7) / 8) {}
  void set(uint64_t at) { bytes[at / 8] = static_cast<uint8_t>(bytes[at / 8] | (1U << (at % 8))); }
  std::vector<uint8_t> bytes;
};

// Which rows of a column have a value.
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
