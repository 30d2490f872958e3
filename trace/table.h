// The declaration of tables: each is a struct template of its columns, in schema.h. The user of the template chooses
// the type of the columns: values (a row), keys (to find a column in a file), buffers (for the sealer), columns in
// memory (for the analyzer). All other properties of a table follow from its declaration.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trace/types.h"

namespace tapelens::trace {

enum class Table : uint8_t;

// The transformation of a column's values before compression: plain values, or differences between neighbors.
enum class Transform : uint8_t { plain = 0, delta = 1 };

// ---- a column ---------------------------------------------------------------------------------------------------

template <size_t size>
struct Name {
  char text[size];
  consteval Name(const char (&literal)[size]) { std::copy_n(literal, size, text); }
};

// The stored form of a value type: an unsigned number of 1, 2, 4 or 8 bytes.
template <class Value>
struct Storage {
  using Raw = Value;
};
template <class Value>
requires std::is_enum_v<Value>
struct Storage<Value> {
  using Raw = std::underlying_type_t<Value>;
};
template <class Tag>
struct Storage<Id<Tag>> {
  using Raw = uint32_t;
};
template <>
struct Storage<DeviceId> {
  using Raw = uint8_t;
};
template <>
struct Storage<ThreadId> {
  using Raw = uint16_t;
};
template <>
struct Storage<Time> {
  using Raw = uint64_t;
};
template <>
struct Storage<Bytes> {
  using Raw = uint64_t;
};

template <class>
inline constexpr bool kIsId = false;
template <class Tag>
inline constexpr bool kIsId<Id<Tag>> = true;

template <class Value>
constexpr auto to_raw(Value value) {
  using Raw = typename Storage<Value>::Raw;
  if constexpr (std::is_same_v<Value, Time>) {
    return static_cast<Raw>(value.ns);
  } else if constexpr (std::is_same_v<Value, Bytes> || kIsId<Value>) {
    return static_cast<Raw>(value.value);
  } else {
    return static_cast<Raw>(value);
  }
}

// The column's number is in files and never reused. `Value` gives its unit, or the table whose rows it names.
template <uint8_t number, Name name, class V, Transform how>
struct ColumnSpec {
  using Value = V;
  using Raw = typename Storage<Value>::Raw;
  static_assert(std::is_unsigned_v<Raw>);
  static constexpr uint8_t kNumber = number;
  static constexpr const char* kName = name.text;
  static constexpr Transform kTransform = how;
};
template <uint8_t number, Name name, class Value>
using Plain = ColumnSpec<number, name, Value, Transform::plain>;
template <uint8_t number, Name name, class Value>
using Delta = ColumnSpec<number, name, Value, Transform::delta>;

// Identifies a column in a file.
struct ColumnKey {
  Table table{};
  uint8_t number = 0;  // within the table
  uint8_t width = 0;   // bytes of a value: 1, 2, 4, 8
  Transform transform{};
  const char* name = "";
};
template <class T>
struct Column : ColumnKey {
  static_assert(std::is_unsigned_v<T>);
  constexpr Column(Table t, uint8_t n, Transform tr, const char* text)
      : ColumnKey{t, n, uint8_t{sizeof(T)}, tr, text} {}
};

// ---- a table ----------------------------------------------------------------------------------------------------

template <class Spec>
using ValueOf = typename Spec::Value;
// A row: {.time = ..., .bytes = ...}.
template <template <template <class> class> class T>
using Row = T<ValueOf>;

namespace detail {

struct Anything {
  template <class T>
  operator T() const;
};
template <class Row, class... Fields>
consteval size_t fields() {
  if constexpr (requires { Row{Fields{}..., Anything{}}; }) {
    return fields<Row, Fields..., Anything>();
  } else {
    return sizeof...(Fields);
  }
}

}  // namespace detail

template <template <template <class> class> class T>
inline constexpr size_t kColumns = detail::fields<Row<T>>();

// The columns of a table in declaration order, as a tuple of references.
template <size_t count, class Columns>
constexpr auto tied(Columns& t) {
  static_assert(count >= 1 && count <= 12, "a table has 1 to 12 columns: write the next line below");
  if constexpr (count == 1) {
    auto& [a] = t;
    return std::tie(a);
  } else if constexpr (count == 2) {
    auto& [a, b] = t;
    return std::tie(a, b);
  } else if constexpr (count == 3) {
    auto& [a, b, c] = t;
    return std::tie(a, b, c);
  } else if constexpr (count == 4) {
    auto& [a, b, c, d] = t;
    return std::tie(a, b, c, d);
  } else if constexpr (count == 5) {
    auto& [a, b, c, d, e] = t;
    return std::tie(a, b, c, d, e);
  } else if constexpr (count == 6) {
    auto& [a, b, c, d, e, f] = t;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (count == 7) {
    auto& [a, b, c, d, e, f, g] = t;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (count == 8) {
    auto& [a, b, c, d, e, f, g, h] = t;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (count == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = t;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (count == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = t;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (count == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = t;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = t;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  }
}

// Calls visit(column of the first, column of the second, ...) for each column of tables of one template.
template <template <template <class> class> class T, class Visit, class... Tables>
constexpr void for_each_column(Visit&& visit, Tables&... tables) {
  [&]<size_t... column>(std::index_sequence<column...>) {
    const auto at = [&]<size_t i>(std::integral_constant<size_t, i>) {
      visit(std::get<i>(tied<kColumns<T>>(tables))...);
    };
    (at(std::integral_constant<size_t, column>{}), ...);
  }
  (std::make_index_sequence<kColumns<T>>{});
}

// A column's key with the properties of its declaration.
template <Table table, class Spec>
struct Key : Column<typename Spec::Raw>, Spec {
  constexpr Key() : Column<typename Spec::Raw>(table, Spec::kNumber, Spec::kTransform, Spec::kName) {}
};
template <Table table>
struct KeysOf {
  template <class Spec>
  using Of = Key<table, Spec>;
};

// The keys of a table's columns: column<table::Operators>.begin.
template <template <template <class> class> class T>
inline constexpr T<KeysOf<Row<T>::kTable>::template Of> column{};

}  // namespace tapelens::trace
