// See tables.h.
#include "analyzer/model/tables.h"

#include <sys/mman.h>

#include <cstdint>

#include "analyzer/model/column.h"

namespace tapelens::model {
namespace {

std::string name_of(Table table) {
  std::string name = "number " + std::to_string(static_cast<unsigned>(table));
  trace::for_each_table([&]<template <template <class> class> class T>() {
    if (trace::Row<T>::kTable == table) name = trace::Row<T>::kName;
  });
  return name;
}

}  // namespace

Tables::Tables(const trace::Recording& recording, trace::ProcessIndex process)
    : recording_(&recording), process_(process) {}

Tables Tables::shared(const trace::Recording& recording) {
  Tables tables(recording, {});
  for (const trace::LeftOutTable& table : recording.left_out()) {
    if (static_cast<uint8_t>(table.table) < trace::kFirstTableOfProcess) tables.take(table);
  }
  return tables;
}

Tables Tables::of_process(const trace::Recording& recording, trace::ProcessIndex process) {
  Tables tables(recording, process);
  for (const trace::LeftOutTable& table : recording.left_out()) {
    if (static_cast<uint8_t>(table.table) >= trace::kFirstTableOfProcess && table.process == process)
      tables.take(table);
  }
  return tables;
}

void Tables::fault(Table table, std::string why) {
  std::string& first = whys_[static_cast<uint8_t>(table)];
  if (first.empty()) first = std::move(why);
}

void Tables::times(const trace::ColumnKey& key, const std::vector<uint64_t>& values) {
  const auto falls = std::is_sorted_until(values.begin(), values.end());
  if (falls != values.end()) fault(key, "falls at row " + std::to_string(falls - values.begin()));
  if (values.back() >= static_cast<uint64_t>(kNever.ns)) fault(key, "is past all time");
}

void Tables::sums(const trace::ColumnKey& key, const std::vector<uint64_t>& values) {
  int64_t total = 0;
  for (size_t row = 1; row < values.size() && is_sound(key.table); ++row) {
    if (__builtin_add_overflow(total, values[row], &total)) fault(key, "sums to more than 2^63");
  }
}

void Tables::earlier(const trace::ColumnKey& key, const std::vector<uint32_t>& parents) {
  for (uint32_t row = 1; row < parents.size(); ++row) {
    if (parents[row] >= row) return fault(key, "of row " + std::to_string(row) + " is not before it");
  }
}

void Tables::differ(const trace::ColumnKey& key, uint64_t total, Table table, uint64_t rows) {
  fault(table, "has " + std::to_string(rows) + " rows, where " + key.name + " of " + name_of(key.table) + " sums to " +
                   std::to_string(total));
}

std::vector<LeftOut> Tables::left_out() const {
  std::vector<LeftOut> all;
  for (size_t number = 0; number < whys_.size(); ++number) {
    const Table table{static_cast<uint8_t>(number)};
    if (!is_sound(table)) all.push_back({table, name_of(table), whys_[number]});
  }
  return all;
}

void prefer_large_pages(void* begin, size_t bytes) {
  constexpr uintptr_t kPage = uintptr_t{2} << 20;
  const auto from = (reinterpret_cast<uintptr_t>(begin) + kPage - 1) / kPage * kPage;
  const auto to = (reinterpret_cast<uintptr_t>(begin) + bytes) / kPage * kPage;
  // An error is ignored: pages stay small.
  if (from < to) madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);
}

}  // namespace tapelens::model
