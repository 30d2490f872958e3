#include "capi/export.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <new>
#include <string>

namespace tapelens::capi {

namespace {

using tables::Column;
using tables::Type;

const char* format_of(Type type) {
  switch (type) {
    case Type::boolean:
      return "b";
    case Type::uint8:
      return "C";
    case Type::uint16:
      return "S";
    case Type::uint32:
      return "I";
    case Type::uint64:
      return "L";
    case Type::int32:
    case Type::words:  // the places
      return "i";
    case Type::int64:
      return "l";
    case Type::utf8:
      break;
  }
  return "u";
}

// The private_data of a schema. It releases children and dictionary, unless a reader took them.
struct OwnedSchema {
  std::string name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
  ArrowSchema dictionary{};
};

template <class Released>
void release_all(Released* released) {
  for (int64_t child = 0; child < released->n_children; ++child) {
    if (released->children[child]->release != nullptr) released->children[child]->release(released->children[child]);
  }
  if (released->dictionary != nullptr && released->dictionary->release != nullptr)
    released->dictionary->release(released->dictionary);
  released->release = nullptr;
}

void release_schema(ArrowSchema* schema) {
  const std::unique_ptr<const OwnedSchema> owned(static_cast<OwnedSchema*>(schema->private_data));
  release_all(schema);
}

void start_schema(ArrowSchema& out, const char* format, std::string name, bool has_nulls,
                  std::unique_ptr<OwnedSchema> owned) {
  owned->name = std::move(name);
  out = {};
  out.format = format;
  out.name = owned->name.c_str();
  out.flags = has_nulls ? ARROW_FLAG_NULLABLE : 0;
  out.private_data = owned.release();
  out.release = release_schema;
}

void column_schema(ArrowSchema& out, const tables::TableColumn& column) {
  auto owned = std::make_unique<OwnedSchema>();
  OwnedSchema& kept = *owned;
  start_schema(out, format_of(column.type), column.name, column.has_nulls, std::move(owned));
  if (column.type != Type::words) return;
  start_schema(kept.dictionary, "u", "", false, std::make_unique<OwnedSchema>());
  out.dictionary = &kept.dictionary;
}

// The private_data of an array, likewise.
struct OwnedArray {
  Column column;
  std::array<const void*, 3> buffers{};
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
  ArrowArray dictionary{};
};

void release_array(ArrowArray* array) {
  const std::unique_ptr<const OwnedArray> owned(static_cast<OwnedArray*>(array->private_data));
  release_all(array);
}

void start_array(ArrowArray& out, uint64_t rows, int64_t buffers, std::unique_ptr<OwnedArray> owned) {
  out = {};
  out.length = static_cast<int64_t>(rows);
  out.n_buffers = buffers;
  out.buffers = owned->buffers.data();
  out.private_data = owned.release();
  out.release = release_array;
}

// An empty buffer needs an address: some readers treat null as a missing buffer.
const void* address(const void* of) {
  static constexpr uint64_t kNothing = 0;
  return of != nullptr ? of : &kNothing;
}

void texts_array(ArrowArray& out, const std::shared_ptr<const tables::Strings>& strings, Column column) {
  auto owned = std::make_unique<OwnedArray>();
  column.strings = strings;
  owned->buffers = {column.valid.empty() ? nullptr : column.valid.data(), strings->begin.data(),
                    address(strings->bytes.data())};
  const auto nulls = static_cast<int64_t>(column.nulls);
  owned->column = std::move(column);
  start_array(out, strings->size(), 3, std::move(owned));
  out.null_count = nulls;
}

void column_array(ArrowArray& out, Column column) {
  if (column.type == Type::utf8) {
    const auto strings = column.strings;
    return texts_array(out, strings, std::move(column));
  }
  auto owned = std::make_unique<OwnedArray>();
  OwnedArray& kept = *owned;
  const uint64_t rows = column.rows;
  kept.column = std::move(column);
  kept.buffers = {kept.column.valid.empty() ? nullptr : kept.column.valid.data(), address(kept.column.values)};
  start_array(out, rows, 2, std::move(owned));
  out.null_count = static_cast<int64_t>(kept.column.nulls);
  if (kept.column.type != Type::words) return;
  texts_array(kept.dictionary, kept.column.strings, {});
  out.dictionary = &kept.dictionary;
}

// A struct without nulls. Its children are made after it, so that an exception leaks nothing.
void batch_array(ArrowArray& out, const TableSelection& selection, const std::shared_ptr<const tables::Part>& part,
                 tables::Rows rows) {
  auto owned = std::make_unique<OwnedArray>();
  OwnedArray& kept = *owned;
  kept.children.resize(selection.columns.size());
  for (ArrowArray& child : kept.children) kept.pointers.push_back(&child);
  start_array(out, rows.count(), 1, std::move(owned));
  out.children = kept.pointers.data();
  out.n_children = static_cast<int64_t>(kept.children.size());
  try {
    for (size_t at = 0; at < selection.columns.size(); ++at)
      column_array(kept.children[at], selection.columns[at]->make(part, rows));
  } catch (...) {
    out.release(&out);
    throw;
  }
}

struct Stream {
  std::shared_ptr<tables::Opened> opened;
  TableSelection selection;
  uint32_t process = 0;  // process of the next rows
  uint64_t row = 0;
  std::string error;

  // False at the end.
  bool next(ArrowArray& out) {
    for (; process < selection.last_process; ++process, row = 0) {
      const auto part = opened->part(*selection.table, process);
      const uint64_t rows = selection.table->rows(*part);
      if (row >= rows) continue;
      const tables::Rows batch{row, std::min(rows, row + kBatchRows)};
      batch_array(out, selection, part, batch);
      row = batch.last;
      return true;
    }
    return false;
  }
};

// Converts an exception of `work` to the stream's last error and an errno value.
template <class Work>
int guarded(ArrowArrayStream* stream, Work work) {
  auto& of = *static_cast<Stream*>(stream->private_data);
  try {
    of.error.clear();
    work(of);
    return 0;
  } catch (const std::bad_alloc&) {
    of.error = "there is not enough memory for the table " + of.selection.table->name;
    return ENOMEM;
  } catch (const std::exception& failure) {
    of.error = "the table " + of.selection.table->name + " cannot be read: " + failure.what();
    return EIO;
  }
}

int stream_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  return guarded(stream, [out](const Stream& of) { export_schema(of.selection, *out); });
}

int stream_next(ArrowArrayStream* stream, ArrowArray* out) {
  return guarded(stream, [out](Stream& of) {
    if (!of.next(*out)) *out = {};
  });
}

const char* stream_error(ArrowArrayStream* stream) {
  const std::string& error = static_cast<Stream*>(stream->private_data)->error;
  return error.empty() ? nullptr : error.c_str();
}

void stream_release(ArrowArrayStream* stream) {
  const std::unique_ptr<const Stream> owned(static_cast<Stream*>(stream->private_data));
  stream->release = nullptr;
}

}  // namespace

void export_schema(const TableSelection& selection, ArrowSchema& out) {
  auto owned = std::make_unique<OwnedSchema>();
  OwnedSchema& kept = *owned;
  kept.children.resize(selection.columns.size());
  for (ArrowSchema& child : kept.children) kept.pointers.push_back(&child);
  start_schema(out, "+s", "", false, std::move(owned));
  out.children = kept.pointers.data();
  out.n_children = static_cast<int64_t>(kept.children.size());
  try {
    for (size_t at = 0; at < selection.columns.size(); ++at) column_schema(kept.children[at], *selection.columns[at]);
  } catch (...) {
    out.release(&out);
    throw;
  }
}

void export_stream(std::shared_ptr<tables::Opened> opened, TableSelection selection, ArrowArrayStream& out) {
  auto stream = std::make_unique<Stream>();
  stream->opened = std::move(opened);
  stream->process = selection.first_process;
  stream->selection = std::move(selection);
  out = {stream_schema, stream_next, stream_error, stream_release, stream.release()};
}

}  // namespace tapelens::capi
