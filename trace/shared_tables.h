// The tables that all processes of a recording share, without duplicates. Used by the sealer.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trace/seeded_hash.h"
#include "trace/table_sink.h"
#include "trace/utf8.h"

namespace tapelens::trace {

class SharedTables {
 public:
  explicit SharedTables(SealedWriter& writer) : sinks_(writer, 0) {}

  // 0 for the empty text. Invalid UTF-8 is replaced by U+FFFD.
  StringId string(std::string_view text);
  FrameId frame(StringId file, StringId function, uint32_t line);
  StackId stack(std::span<const FrameId> frames);  // 0 for the empty stack
  // `extents`: sizes, then strides.
  LayoutId layout(StringId dtype, uint16_t element_bytes, std::span<const uint64_t> extents);
  ModuleId module(StringId path, StringId type);
  DeviceId device(StringId name);  // 0 after 255 devices
  void flush() { sinks_.flush(); }

 private:
  // Keys are the bytes of the interned record.
  using Ids = std::unordered_map<std::string, uint32_t, SeededHash, std::equal_to<>>;
  static std::pair<uint32_t, bool> intern(Ids& ids, std::string_view key);

  Ids strings_, frames_, stacks_, layouts_, modules_, devices_;
  SharedSinks sinks_;
};

}  // namespace tapelens::trace
