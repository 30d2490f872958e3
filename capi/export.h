// Tables as Arrow's C structs: each has an owner of its own, so that a reader may take a column and let the rest go.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analyzer/tables/opened.h"
#include "capi/arrow.h"

namespace tapelens::capi {

// Which rows and columns of a table.
struct Selection {
  const tables::Table* table = nullptr;
  std::vector<const tables::TableColumn*> columns;
  uint32_t first_process = 0, last_process = 0;  // [first, last); of a shared table one
};

// A struct with a child for each column. `out` is the caller's to release.
void export_schema(const Selection& selection, ArrowSchema& out);
// Batches of at most so many rows, made when they are asked for.
inline constexpr uint64_t kBatchRows = 1 << 17;
void export_stream(std::shared_ptr<tables::Opened> opened, Selection selection, ArrowArrayStream& out);

}  // namespace tapelens::capi
