// See shared_tables.h.
#include "trace/shared_tables.h"

#include <array>

namespace tapelens::trace {
namespace {

template <class Value>
std::string_view bytes_of(std::span<const Value> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace

SharedTables::SharedTables(SealedWriter& writer)
    : string_byte_(writer, column::string_byte, 0),
      string_length_(writer, column::string_length, 0),
      frame_file_(writer, column::frame_file, 0),
      frame_function_(writer, column::frame_function, 0),
      frame_line_(writer, column::frame_line, 0),
      stack_depth_(writer, column::stack_depth, 0),
      stack_frame_(writer, column::stack_frame, 0),
      layout_dtype_(writer, column::layout_dtype, 0),
      layout_element_bytes_(writer, column::layout_element_bytes, 0),
      layout_rank_(writer, column::layout_rank, 0),
      layout_size_(writer, column::layout_size, 0),
      layout_stride_(writer, column::layout_stride, 0),
      module_path_(writer, column::module_path, 0),
      module_type_(writer, column::module_type, 0),
      device_name_(writer, column::device_name, 0) {}

std::pair<uint32_t, bool> SharedTables::intern(Ids& ids, std::string_view key) {
  if (const auto known = ids.find(key); known != ids.end()) return {known->second, false};
  const auto id = static_cast<uint32_t>(ids.size() + 1);
  ids.emplace(key, id);
  return {id, true};
}

uint32_t SharedTables::string(std::string_view text) {
  if (text.empty()) return 0;
  const std::string clean = as_utf8(text);
  const auto [id, is_new] = intern(strings_, clean);
  if (is_new) {
    for (const char c : clean) string_byte_.push(static_cast<uint8_t>(c));
    string_length_.push(static_cast<uint32_t>(clean.size()));
  }
  return id;
}

uint32_t SharedTables::frame(uint32_t file, uint32_t function, uint32_t line) {
  const std::array<uint32_t, 3> key{file, function, line};
  const auto [id, is_new] = intern(frames_, bytes_of(std::span<const uint32_t>(key)));
  if (is_new) {
    frame_file_.push(file);
    frame_function_.push(function);
    frame_line_.push(line);
  }
  return id;
}

uint32_t SharedTables::stack(std::span<const uint32_t> frames) {
  if (frames.empty()) return 0;
  const auto [id, is_new] = intern(stacks_, bytes_of(frames));
  if (is_new) {
    for (const uint32_t frame : frames) stack_frame_.push(frame);
    stack_depth_.push(static_cast<uint32_t>(frames.size()));
  }
  return id;
}

uint32_t SharedTables::layout(uint32_t dtype, uint16_t element_bytes, std::span<const uint64_t> extents) {
  const std::array<uint32_t, 2> type{dtype, element_bytes};
  std::string key(bytes_of(std::span<const uint32_t>(type)));
  key += bytes_of(extents);
  const auto [id, is_new] = intern(layouts_, key);
  if (is_new) {
    const size_t rank = extents.size() / 2;
    layout_dtype_.push(dtype);
    layout_element_bytes_.push(element_bytes);
    layout_rank_.push(static_cast<uint16_t>(rank));
    for (size_t i = 0; i < rank; ++i) layout_size_.push(extents[i]);
    for (size_t i = 0; i < rank; ++i) layout_stride_.push(extents[rank + i]);
  }
  return id;
}

uint32_t SharedTables::module(uint32_t path, uint32_t type) {
  const std::array<uint32_t, 2> key{path, type};
  const auto [id, is_new] = intern(modules_, bytes_of(std::span<const uint32_t>(key)));
  if (is_new) {
    module_path_.push(path);
    module_type_.push(type);
  }
  return id;
}

uint8_t SharedTables::device(uint32_t name) {
  const std::array<uint32_t, 1> key{name};
  const auto [id, is_new] = intern(devices_, bytes_of(std::span<const uint32_t>(key)));
  if (is_new) device_name_.push(name);
  return id <= 255 ? static_cast<uint8_t>(id) : uint8_t{0};
}

void SharedTables::flush() {
  string_byte_.flush();
  string_length_.flush();
  frame_file_.flush();
  frame_function_.flush();
  frame_line_.flush();
  stack_depth_.flush();
  stack_frame_.flush();
  layout_dtype_.flush();
  layout_element_bytes_.flush();
  layout_rank_.flush();
  layout_size_.flush();
  layout_stride_.flush();
  module_path_.flush();
  module_type_.flush();
  device_name_.flush();
}

}  // namespace tapelens::trace
