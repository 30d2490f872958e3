#include "analyzer/tables/tables.h"

#include <iterator>
#include <utility>

namespace tapelens::tables {

std::span<const Table> all_tables() {
  static const std::vector<Table> all = [] {
    std::vector<Table> tables;
    for (auto* of_subject : {process_tables, peak_tables, finding_tables, event_tables, graph_tables, shared_tables})
      for (Table& table : of_subject()) tables.push_back(std::move(table));
    return tables;
  }();
  return all;
}

const Table* table_named(std::string_view name) {
  for (const Table& table : all_tables())
    if (table.name == name) return &table;
  return nullptr;
}

}  // namespace tapelens::tables
