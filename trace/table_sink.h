// Receives the rows of a table from the sealer, buffers them by column and writes them in chunks.
#pragma once

#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trace/schema.h"
#include "trace/sealed_format.h"
#include "trace/sealed_writer.h"

namespace tapelens::trace {

template <template <template <class> class> class T>
class TableSink {
 public:
  using Id = typename Row<T>::Id;

  TableSink(SealedWriter& writer, uint32_t process) : writer_(writer), process_(process) {
    for_each_column<T>(
        [](auto& values) {
          // Not initialized: pages that receive no value cost nothing.
          using Raw = typename std::remove_cvref_t<decltype(values)>::element_type;
          values.reset(new Raw[kChunkRows]);
        },
        buffers_);
  }

  // Returns the row's number, counted from 1, which is its id.
  Id push(const Row<T>& row) {
    for_each_column<T>(
        [this](const auto& value, auto& values, auto& total) {
          values[buffered_] = to_raw(value);
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, Bytes>)
            sums_fit_ &= !__builtin_add_overflow(total, values[buffered_], &total);
        },
        row, buffers_, totals_);
    if (++buffered_ == kChunkRows) flush();
    return Id{++rows_};
  }
  // False if a column of bytes sums to 2^63 or more: a reader leaves out such a table.
  bool sums_fit() const { return sums_fit_; }
  void flush() {
    if (buffered_ > 0)
      for_each_column<T>(
          [this](const auto& key, const auto& values) { writer_.write_chunk(key, process_, values.get(), buffered_); },
          column<T>, buffers_);
    buffered_ = 0;
  }

 private:
  template <class Spec>
  using Buffer = std::unique_ptr<typename Spec::Raw[]>;
  template <class Spec>
  using Total = int64_t;

  SealedWriter& writer_;
  uint32_t process_;
  size_t buffered_ = 0;
  uint32_t rows_ = 0;
  T<Buffer> buffers_;
  T<Total> totals_{};  // of columns with bytes
  bool sums_fit_ = true;
};

// The sinks of all tables of a list: push<table::Frees>({.of = ..., .time = ...}).
template <class List>
class TableSinks;
template <template <template <class> class> class... T>
class TableSinks<TableList<T...>> {
 public:
  // `process`: 0 for shared tables.
  TableSinks(SealedWriter& writer, uint32_t process) : sinks_(TableSink<T>(writer, process)...) {}

  template <template <template <class> class> class Of>
  auto push(const Row<Of>& row) {
    return std::get<TableSink<Of>>(sinks_).push(row);
  }
  bool sums_fit() const {
    return std::apply([](const auto&... sink) { return (sink.sums_fit() && ...); }, sinks_);
  }
  void flush() {
    std::apply([](auto&... sink) { (sink.flush(), ...); }, sinks_);
  }

 private:
  std::tuple<TableSink<T>...> sinks_;
};

using SharedSinks = TableSinks<SharedTableList>;
using ProcessSinks = TableSinks<ProcessTableList>;

}  // namespace tapelens::trace
