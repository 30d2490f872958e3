// Tables: their columns, and how to compute the values of some rows from a part of a recording.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "analyzer/tables/column.h"
#include "analyzer/tables/part.h"

namespace tapelens::tables {

// Rows [first, last) of a part, from 0.
struct Rows {
  uint64_t first = 0, last = 0;
  uint64_t count() const { return last - first; }
};

struct TableColumn {
  std::string name;
  Type type{};
  bool has_nulls = false;
  std::function<Column(const std::shared_ptr<const Part>&, Rows)> make;
};

struct Table {
  std::string name;
  bool is_shared = false;  // shared by all processes; otherwise each process has its own rows
  std::function<uint64_t(const Part&)> rows;
  std::vector<TableColumn> columns;

  const TableColumn* column(std::string_view named) const {
    for (const TableColumn& one : columns)
      if (one.name == named) return &one;
    return nullptr;
  }
};

// Declares a table. Functions that compute columns get a row's `Key`. They return nullopt, kNever, none or an empty
// text for null.
template <class Key>
class Declare {
 public:
  using KeyAt = std::function<Key(const Part&, uint64_t)>;
  Declare(std::string name, std::function<uint64_t(const Part&)> rows, KeyAt key_at, bool is_shared = false)
      : key_at_(std::move(key_at)) {
    table_.name = std::move(name);
    table_.rows = std::move(rows);
    table_.is_shared = is_shared;
    if (!is_shared) column("process", [](const Part& part, Key) { return part.index(); });
  }
  Table table() { return std::move(table_); }

  // A column that the model stores already: get(part) returns its raw values, whose first belongs to no row.
  template <class Get>
  Declare& raw(std::string name, Get get) {
    using Raw = typename std::remove_cvref_t<decltype(get(std::declval<const Part&>()))>::value_type;
    // Times and bytes are below 2^63 in every loaded table.
    constexpr Type kType = std::is_same_v<Raw, uint64_t> ? Type::int64 : type_of<Raw>();
    return add(std::move(name), kType, false, [get](const std::shared_ptr<const Part>& part, Rows rows) {
      Column made = started(kType, rows);
      made.owner = part;
      made.values = get(*part).data() + 1 + rows.first;
      return made;
    });
  }

  // A column of the values of get(part, key): a number, a bool, a time, bytes, an id, an optional of these, or one of a
  // few texts.
  template <class Get>
  Declare& column(std::string name, Get get) {
    using Got = std::remove_cvref_t<std::invoke_result_t<Get, const Part&, Key>>;
    if constexpr (std::is_same_v<Got, StringId>) {
      return named(std::move(name), get,
                   [](const Part& part, StringId id) { return std::string(part.text().string(id)); });
    } else if constexpr (std::is_convertible_v<Got, std::string_view>) {
      return add(std::move(name), Type::words, true,
                 [get, at = key_at_](const std::shared_ptr<const Part>& part, Rows rows) {
                   Words words;
                   return placed(rows, words, [&](uint64_t row) -> std::optional<int32_t> {
                     const Got text = get(*part, at(*part, row));
                     if (std::string_view(text).empty()) return std::nullopt;
                     return words.place(text);
                   });
                 });
    } else {
      constexpr bool kHasNulls = has_nulls<Got>();
      constexpr Type kType = type_of<Got>();
      return add(std::move(name), kType, kHasNulls,
                 [get, at = key_at_](const std::shared_ptr<const Part>& part, Rows rows) {
                   return computed<Got>(rows, [&](uint64_t row) { return get(*part, at(*part, row)); });
                 });
    }
  }

  // A column of texts by id: calls text_of(part, id) once for each id. Null for none and for an empty text.
  template <class Get, class TextOf>
  Declare& named(std::string name, Get get, TextOf text_of) {
    return add(std::move(name), Type::words, true,
               [get, text_of, at = key_at_](const std::shared_ptr<const Part>& part, Rows rows) {
                 Words words;
                 std::unordered_map<uint32_t, std::optional<int32_t>> places;
                 return placed(rows, words, [&](uint64_t row) -> std::optional<int32_t> {
                   const auto id = get(*part, at(*part, row));
                   if (!id) return std::nullopt;
                   const auto [place, is_new] = places.try_emplace(id.value);
                   if (is_new) {
                     const std::string text = text_of(*part, id);
                     if (!text.empty()) place->second = words.place(text);
                   }
                   return place->second;
                 });
               });
  }

  // A column of texts that differ from row to row.
  template <class Get>
  Declare& text(std::string name, Get get) {
    return add(std::move(name), Type::utf8, true,
               [get, at = key_at_](const std::shared_ptr<const Part>& part, Rows rows) {
                 Column made = started(Type::utf8, rows);
                 Valid valid(rows.count());
                 auto strings = std::make_shared<Strings>();
                 for (uint64_t row = rows.first; row < rows.last; ++row) {
                   const auto text = get(*part, at(*part, row));
                   valid.set(row - rows.first, !std::string_view(text).empty());
                   strings->add(text);
                 }
                 made.strings = std::move(strings);
                 valid.finish(made);
                 return made;
               });
  }

 private:
  template <class T>
  struct Unwrapped {
    using Type = T;
  };
  template <class T>
  struct Unwrapped<std::optional<T>> {
    using Type = T;
  };

  template <class T>
  static constexpr bool has_nulls() {
    return std::is_same_v<T, Time> || !std::is_same_v<T, typename Unwrapped<T>::Type>;
  }

  template <class T>
  static constexpr Type type_of() {
    using Value = typename Unwrapped<T>::Type;
    if constexpr (std::is_same_v<Value, bool>) {
      return Type::boolean;
    } else if constexpr (std::is_same_v<Value, Time> || std::is_same_v<Value, Bytes> ||
                         std::is_same_v<Value, int64_t>) {
      return Type::int64;
    } else if constexpr (std::is_same_v<Value, int32_t>) {
      return Type::int32;
    } else if constexpr (std::is_integral_v<Value>) {
      static_assert(std::is_unsigned_v<Value>);
      return sizeof(Value) == 1   ? Type::uint8
             : sizeof(Value) == 2 ? Type::uint16
             : sizeof(Value) == 4 ? Type::uint32
                                  : Type::uint64;
    } else {
      static_assert(std::is_same_v<decltype(Value::value), uint32_t>, "an id");
      return Type::uint32;
    }
  }

  template <class Value>
  static constexpr auto number(Value value) {
    if constexpr (std::is_same_v<Value, Time>) {
      return value.ns;
    } else if constexpr (std::is_integral_v<Value>) {
      return value;
    } else {
      return value.value;
    }
  }

  static Column started(Type type, Rows rows) {
    Column made;
    made.type = type;
    made.rows = rows.count();
    return made;
  }

  template <class Values>
  static void keep(Column& made, Values values) {
    auto kept = std::make_shared<Values>(std::move(values));
    made.values = kept->data();
    made.owner = std::move(kept);
  }

  template <class Got, class At>
  static Column computed(Rows rows, At value_at) {
    using Value = typename Unwrapped<Got>::Type;
    Column made = started(type_of<Got>(), rows);
    Valid valid(rows.count());
    const auto each = [&](auto&& put) {
      for (uint64_t row = rows.first; row < rows.last; ++row) {
        const Got got = value_at(row);
        if constexpr (std::is_same_v<Got, Time>) {
          valid.set(row - rows.first, got != kNever);
          put(row - rows.first, got);
        } else if constexpr (has_nulls<Got>()) {
          valid.set(row - rows.first, got.has_value());
          put(row - rows.first, got.value_or(Value{}));
        } else {
          put(row - rows.first, got);
        }
      }
    };
    if constexpr (std::is_same_v<Value, bool>) {
      Bits bits(rows.count());
      each([&](uint64_t at, bool is_set) {
        if (is_set) bits.set(at);
      });
      keep(made, std::move(bits.bytes));
    } else {
      std::vector<decltype(number(Value{}))> values(rows.count());
      each([&](uint64_t at, Value value) { values[at] = number(value); });
      keep(made, std::move(values));
    }
    if constexpr (has_nulls<Got>()) valid.finish(made);
    return made;
  }

  template <class PlaceOf>
  static Column placed(Rows rows, Words& words, PlaceOf place_of) {
    Column made = started(Type::words, rows);
    Valid valid(rows.count());
    std::vector<int32_t> places(rows.count());
    for (uint64_t row = rows.first; row < rows.last; ++row) {
      const std::optional<int32_t> place = place_of(row);
      valid.set(row - rows.first, place.has_value());
      places[row - rows.first] = place.value_or(0);
    }
    keep(made, std::move(places));
    made.strings = words.finish();
    valid.finish(made);
    return made;
  }

  Declare& add(std::string name, Type type, bool has_nulls,
               std::function<Column(const std::shared_ptr<const Part>&, Rows)> make) {
    table_.columns.push_back({std::move(name), type, has_nulls, std::move(make)});
    return *this;
  }

  KeyAt key_at_;
  Table table_;
};

// Declares a table of the model, whose rows have ids.
template <class Id, class RowsOf>
Declare<Id> declare_ids(std::string name, RowsOf rows) {
  return Declare<Id>(std::move(name), rows,
                     [](const Part&, uint64_t row) { return Id{static_cast<uint32_t>(row + 1)}; });
}

// Declares a table of derived rows: all_of(part) returns a vector of them.
template <class Row, class AllOf>
Declare<const Row&> declare_rows(std::string name, AllOf all_of) {
  return Declare<const Row&>(
      std::move(name), [all_of](const Part& part) { return static_cast<uint64_t>(all_of(part).size()); },
      [all_of](const Part& part, uint64_t row) -> const Row& { return all_of(part)[row]; });
}

// ---- the tables of a recording for Python and exports; docs/python.md lists them. Ids equal those of the model: they
// start at 1 in each process, and 0 means none

// In the order in which a reader needs them.
std::span<const Table> all_tables();
const Table* table_named(std::string_view name);  // null if no table has that name

// ---- by subject, each in its own file
std::vector<Table> process_tables();  // processes.cpp: processes, devices, steps, regions, losses
std::vector<Table> event_tables();    // events.cpp: allocations, timeline, operators
std::vector<Table> graph_tables();    // graph.cpp: nodes, edges, saves
std::vector<Table> peak_tables();     // peak.cpp: the peak set and its holders
std::vector<Table> finding_tables();  // findings.cpp
std::vector<Table> shared_tables();   // shared.cpp: frames, stacks, modules

}  // namespace tapelens::tables
