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

std::pair<uint32_t, bool> SharedTables::intern(Ids& ids, std::string_view key) {
  if (const auto known = ids.find(key); known != ids.end()) return {known->second, false};
  const auto id = static_cast<uint32_t>(ids.size() + 1);
  ids.emplace(key, id);
  return {id, true};
}

StringId SharedTables::string(std::string_view text) {
  if (text.empty()) return {};
  const std::string clean = as_utf8(text);
  const auto [id, is_new] = intern(strings_, clean);
  if (is_new) {
    for (const char c : clean) sinks_.push<table::StringBytes>({.byte = static_cast<uint8_t>(c)});
    sinks_.push<table::Strings>({.bytes = static_cast<uint32_t>(clean.size())});
  }
  return {id};
}

FrameId SharedTables::frame(StringId file, StringId function, uint32_t line) {
  const std::array<uint32_t, 3> key{file.value, function.value, line};
  const auto [id, is_new] = intern(frames_, bytes_of(std::span<const uint32_t>(key)));
  if (is_new) sinks_.push<table::Frames>({.file = file, .function = function, .line = line});
  return {id};
}

StackId SharedTables::stack(std::span<const FrameId> frames) {
  if (frames.empty()) return {};
  const auto [id, is_new] = intern(stacks_, bytes_of(frames));
  if (is_new) {
    for (const FrameId frame : frames) sinks_.push<table::StackFrames>({.frame = frame});
    sinks_.push<table::Stacks>({.depth = static_cast<uint32_t>(frames.size())});
  }
  return {id};
}

LayoutId SharedTables::layout(StringId dtype, uint16_t element_bytes, std::span<const uint64_t> extents) {
  const std::array<uint32_t, 2> type{dtype.value, element_bytes};
  std::string key(bytes_of(std::span<const uint32_t>(type)));
  key += bytes_of(extents);
  const auto [id, is_new] = intern(layouts_, key);
  if (is_new) {
    const size_t rank = extents.size() / 2;
    sinks_.push<table::Layouts>({.dtype = dtype, .element_bytes = element_bytes, .rank = static_cast<uint16_t>(rank)});
    for (size_t i = 0; i < rank; ++i)
      sinks_.push<table::LayoutExtents>({.size = extents[i], .stride = extents[rank + i]});
  }
  return {id};
}

ModuleId SharedTables::module(StringId path, StringId type) {
  const std::array<uint32_t, 2> key{path.value, type.value};
  const auto [id, is_new] = intern(modules_, bytes_of(std::span<const uint32_t>(key)));
  if (is_new) sinks_.push<table::Modules>({.path = path, .type = type});
  return {id};
}

DeviceId SharedTables::device(StringId name) {
  const std::array<uint32_t, 1> key{name.value};
  const auto [id, is_new] = intern(devices_, bytes_of(std::span<const uint32_t>(key)));
  if (is_new) sinks_.push<table::Devices>({.name = name});
  return id <= 255 ? DeviceId{id} : DeviceId{};
}

}  // namespace tapelens::trace
