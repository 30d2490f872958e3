// The checks that all readers of an untrusted spool share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/record.h"
#include "trace/short_form.h"

namespace tapelens::trace {

// A sparse file can have terabytes of holes: after so many blocks a reader looks for one.
inline constexpr uint64_t kBlocksBetweenHoles = 16;

// Whether a record may have this many bytes, and its own tail fits into them.
inline bool is_whole(const RecordHeader* record, size_t bytes) {
  const RecordShape& shape = shape_of(record->kind);
  if (bytes < shape.bytes) return false;
  if (record->kind == RecordKind::lane) return record->id != 0;
  if (record->kind == short_kind(RecordKind::operator_begin) && is_longer(record) && bytes < shape.bytes + 8)
    return false;
  if (shape.element == 0) return true;
  const size_t tail = bytes - shape.bytes;
  return shape.count != nullptr ? tail >= shape.element * shape.count(record) : tail % shape.element == 0;
}

}  // namespace tapelens::trace
