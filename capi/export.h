// Tables as Arrow C structs: each struct has a separate owner, so that a reader may keep one column and release the
// rest.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analyzer/tables/opened.h"
#include "capi/arrow.h"

namespace tapelens::capi {

// Selects rows and columns of a table.
struct TableSelection {
  const tables::Table* table = nullptr;
  std::vector<const tables::TableColumn*> columns;
  uint32_t first_process = 0, last_process = 0;  // [first, last); one process for a shared table
};

// A struct with a child for each column. The caller must release `out`.
void export_schema(const TableSelection& selection, ArrowSchema& out);
// The most rows of a batch; batches are made on demand.
inline constexpr uint64_t kBatchRows = 1 << 17;
void export_stream(std::shared_ptr<tables::Opened> opened, TableSelection selection, ArrowArrayStream& out);

}  // namespace tapelens::capi
