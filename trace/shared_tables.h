// The tables that all processes of a recording share: each thing once, whoever named it first. Used by the sealer.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trace/schema.h"
#include "trace/sealed_writer.h"
#include "trace/utf8.h"

namespace tapelens::trace {

class SharedTables {
 public:
  explicit SharedTables(SealedWriter& writer);

  // 0 for the empty text. What is not UTF-8 in it is replaced by U+FFFD.
  uint32_t string(std::string_view text);
  uint32_t frame(uint32_t file, uint32_t function, uint32_t line);
  uint32_t stack(std::span<const uint32_t> frames);  // 0 for the empty stack
  // `extents`: sizes, then strides.
  uint32_t layout(uint32_t dtype, uint16_t element_bytes, std::span<const uint64_t> extents);
  uint32_t module(uint32_t path, uint32_t type);
  uint8_t device(uint32_t name);  // 0 past 255 of them
  void flush();

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  // Keys are the bytes of what is interned.
  using Ids = std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>>;
  static std::pair<uint32_t, bool> intern(Ids& ids, std::string_view key);

  Ids strings_, frames_, stacks_, layouts_, modules_, devices_;
  ColumnSink<uint8_t> string_byte_;
  ColumnSink<uint32_t> string_length_;
  ColumnSink<uint32_t> frame_file_, frame_function_, frame_line_;
  ColumnSink<uint32_t> stack_depth_, stack_frame_;
  ColumnSink<uint32_t> layout_dtype_;
  ColumnSink<uint16_t> layout_element_bytes_, layout_rank_;
  ColumnSink<uint64_t> layout_size_, layout_stride_;
  ColumnSink<uint32_t> module_path_, module_type_;
  ColumnSink<uint32_t> device_name_;
};

}  // namespace tapelens::trace
