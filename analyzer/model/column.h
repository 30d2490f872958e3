// A column of a table: raw values as decoded. Reads return the value's strong type and take only an id of the column's
// own table, so a node's id cannot index an operator's column. Row 0 is "none".
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <vector>

#include "trace/schema.h"
#include "trace/types.h"

namespace tapelens::model {

template <class Value, class Raw>
constexpr Value from_raw(Raw raw) {
  if constexpr (std::is_same_v<Value, trace::Time> || std::is_same_v<Value, trace::Bytes>) {
    return Value{static_cast<int64_t>(raw)};
  } else if constexpr (std::is_enum_v<Value> || std::is_integral_v<Value>) {
    return static_cast<Value>(raw);
  } else {
    return Value{static_cast<uint32_t>(raw)};
  }
}

template <class Key, class Value, class Raw = uint32_t>
struct IdColumn {
  std::vector<Raw> raw = std::vector<Raw>(1);  // raw[0] belongs to no row

  Value operator[](Key id) const { return from_raw<Value>(raw[id.value]); }
  uint32_t rows() const { return static_cast<uint32_t>(raw.size() - 1); }
  // The ids of all rows, in their order.
  auto ids() const {
    return std::views::iota(uint32_t{1}, rows() + 1) | std::views::transform([](uint32_t row) { return Key{row}; });
  }
};

template <class Key, class Value>
using WideColumn = IdColumn<Key, Value, uint64_t>;  // times, bytes

// The placeholder for columns of threads, which only pictures need (load.h reads them).
struct NotLoaded {};

template <class Key>
struct ColumnsBy {
  template <class Spec>
  using Of = std::conditional_t<std::is_same_v<typename Spec::Value, trace::ThreadId>, NotLoaded,
                                IdColumn<Key, typename Spec::Value, typename Spec::Raw>>;
};

// The columns that trace/schema.h declares for a table, in memory.
template <template <template <class> class> class T>
struct LoadedTable : T<ColumnsBy<typename trace::Row<T>::Id>::template Of> {
  using Columns = T<ColumnsBy<typename trace::Row<T>::Id>::template Of>;

  uint32_t rows() const { return first().rows(); }
  auto ids() const { return first().ids(); }

 private:
  const auto& first() const { return std::get<0>(trace::tied<trace::kColumns<T>>(*static_cast<const Columns*>(this))); }
};

// ---- memory of large columns

// Asks the kernel for 2 MiB pages if the range, which must be unwritten, is large enough. The kernel may refuse.
void prefer_large_pages(void* begin, size_t bytes);

// Reserves `count` values in an empty vector. Page faults dominate the time to fill a column of millions of rows; large
// pages avoid most of them.
template <class T>
void reserve_large(std::vector<T>& values, size_t count) {
  values.reserve(count);
  prefer_large_pages(values.data(), count * sizeof(T));
}

}  // namespace tapelens::model
