#include "analyzer/tables/table.h"

#include <iterator>
#include <stdexcept>
#include <utility>

#include "analyzer/tables/column.h"
#include "trace/utf8.h"

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

void Strings::add(std::string_view text) {
  if (bytes.size() + text.size() > INT32_MAX / 3) throw std::length_error("a column has more than 682 MiB of text");
  // Names come from the program, and Arrow readers require UTF-8.
  bytes += trace::as_utf8(text);
  begin.push_back(static_cast<int32_t>(bytes.size()));
}

int32_t Words::place(std::string_view text) {
  // The key is the UTF-8 text that readers see, so that no two words are equal.
  const auto [at, is_new] = places_.try_emplace(trace::as_utf8(text), static_cast<int32_t>(strings_->size()));
  if (is_new) strings_->add(at->first);
  return at->second;
}

}  // namespace tapelens::tables
