// Reads columns of unverified recordings, and notes the first fault of each table. A table with a fault is left out,
// and every report says so. Used by load.cpp and load_text.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/model/column.h"
#include "analyzer/model/model.h"
#include "analyzer/model/text.h"
#include "trace/recording.h"
#include "trace/schema.h"

namespace tapelens::model {

using trace::Table;

class Tables {
 public:
  // For the shared tables, or for those of one process.
  static Tables shared(const trace::Recording& recording);
  static Tables of_process(const trace::Recording& recording, trace::ProcessIndex process);

  template <class T>
  std::vector<T> column(trace::Column<T> key) {
    std::vector<T> values;
    if (is_sound(key.table)) reserve_large(values, rows(key.table) + 1);
    if (is_sound(key.table) && !recording_->read(key, values, process_)) fault(key, "cannot be decoded");
    if (!is_sound(key.table)) values.assign(1, 0);
    return values;
  }

  // Loads all columns of a table. Checks that times do not decrease and are not kNever, and that no sum of bytes
  // exceeds 2^63. leave_out_unsound() checks ids after all tables have been read.
  template <template <template <class> class> class T>
  void load(LoadedTable<T>& table) {
    trace::for_each_column<T>(
        [this]<class Key, class Column>(const Key& key, Column& into) {
          if constexpr (!std::is_same_v<Column, NotLoaded>) {
            into.raw = column(key);
            if constexpr (std::is_same_v<typename Key::Value, Time> && Key::kTransform == trace::Transform::delta)
              times(key, into.raw);
            if constexpr (std::is_same_v<typename Key::Value, Bytes>) sums(key, into.raw);
          }
        },
        trace::column<T>, static_cast<typename LoadedTable<T>::Columns&>(table));
  }

  uint64_t rows(Table table) const { return recording_->rows(table, process_); }
  bool is_sound(Table table) const { return whys_[static_cast<uint8_t>(table)].empty(); }
  void fault(Table table, std::string why);
  void fault(const trace::ColumnKey& key, const std::string& what) { fault(key.table, key.name + (" " + what)); }

  // ---- checks; a table that is already left out is not checked again

  // Checks that ids are rows of a table with `rows` rows.
  template <class Raw>
  void below(const trace::ColumnKey& key, const std::vector<Raw>& ids, uint64_t rows) {
    if (!is_sound(key.table) || ids.empty()) return;
    const uint64_t greatest = *std::max_element(ids.begin(), ids.end());
    if (greatest > rows) fault(key, "names row " + std::to_string(greatest) + " of " + std::to_string(rows));
  }
  // Checks that the parent of each row is an earlier row.
  void earlier(const trace::ColumnKey& key, const std::vector<uint32_t>& parents);
  // Checks lengths of rows that follow one another in `table`, which has `rows` rows.
  template <class Length>
  void lengths(const trace::ColumnKey& key, const std::vector<Length>& all, Table table, uint64_t rows) {
    uint64_t total = 0;
    for (const Length length : all) total += length;
    if (total != rows && is_sound(key.table) && is_sound(table)) differ(key, total, table, rows);
  }
  // Checks that the sum of all rows fits a signed 64-bit number, which holds sums of bytes and times everywhere.
  void sums(const trace::ColumnKey& key, const std::vector<uint64_t>& values);

  size_t faults() const {
    return static_cast<size_t>(std::ranges::count_if(whys_, [](auto& why) { return !why.empty(); }));
  }
  // All tables that are left out, in the order of their numbers.
  std::vector<LeftOut> left_out() const;

 private:
  Tables(const trace::Recording& recording, trace::ProcessIndex process);
  void take(const trace::LeftOutTable& table) { fault(table.table, table.why); }
  void times(const trace::ColumnKey& key, const std::vector<uint64_t>& values);
  void differ(const trace::ColumnKey& key, uint64_t total, Table table, uint64_t rows);

  const trace::Recording* recording_;
  trace::ProcessIndex process_;
  std::array<std::string, 256> whys_;
};

// Checks the tables against one another, after all have been read. Ids of rows in a table that is left out become none.
// A table whose ids refer to missing rows is left out too.
void leave_out_unsound(Tables& tables, const Text& text, Process& process);

// The begins of rows that follow one another, from their lengths: row i is [begin[i], begin[i + 1]).
template <class Out, class Length>
std::vector<Out> begins(const std::vector<Length>& lengths) {
  std::vector<Out> begin(lengths.size() + 1, 0);
  for (size_t row = 1; row < lengths.size(); ++row) begin[row + 1] = begin[row] + static_cast<Out>(lengths[row]);
  return begin;
}

}  // namespace tapelens::model
