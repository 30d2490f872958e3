// The shared tables of a recording, as text.
#include "analyzer/model/load.h"
#include "analyzer/model/tables.h"

namespace tapelens::model {

namespace {

namespace table = trace::table;
using trace::column;
using trace::Recording;

// No readable path, name or argument list is longer. The limit matters because each may be laid out thousands of times.
constexpr uint64_t kLongest = 4096;
constexpr std::string_view kCut = "…";

// Cuts longer strings, between two characters.
void cut_long_strings(Text& text) {
  std::string kept;
  std::vector<uint64_t> begin(text.string_begin.size());
  for (size_t row = 1; row + 1 < text.string_begin.size(); ++row) {
    std::string_view all = text.string(StringId{static_cast<uint32_t>(row)});
    begin[row] = kept.size();
    const bool is_long = all.size() > kLongest;
    if (is_long) {
      size_t end = kLongest - kCut.size();
      while (end > 0 && (static_cast<unsigned char>(all[end]) & 0xc0) == 0x80) --end;
      all = all.substr(0, end);
    }
    kept += all;
    if (is_long) kept += kCut;
  }
  begin.back() = kept.size();
  text.bytes = std::move(kept);
  text.string_begin = std::move(begin);
}

void load_strings(Tables& t, Text& text) {
  const auto bytes = t.column(column<table::StringBytes>.byte);
  const auto lengths = t.column(column<table::Strings>.bytes);
  t.lengths(column<table::Strings>.bytes, lengths, Table::string_bytes, bytes.size() - 1);
  if (!t.is_sound(Table::string_bytes)) t.fault(Table::strings, "their text is left out");
  if (!t.is_sound(Table::strings)) return;
  text.bytes.assign(bytes.begin() + 1, bytes.end());
  text.string_begin = begins<uint64_t>(lengths);
  if (*std::max_element(lengths.begin(), lengths.end()) > kLongest) cut_long_strings(text);
}

void load_stacks(Tables& t, Text& text) {
  const auto depths = t.column(column<table::Stacks>.depth);
  auto frames = t.column(column<table::StackFrames>.frame);
  if (!t.is_sound(Table::frames)) frames.assign(frames.size(), 0);
  t.below(column<table::StackFrames>.frame, frames, text.frame_file.rows());
  t.lengths(column<table::Stacks>.depth, depths, Table::stack_frames, frames.size() - 1);
  if (!t.is_sound(Table::stack_frames)) t.fault(Table::stacks, "their frames are left out");
  if (!t.is_sound(Table::stacks)) return;
  text.stack_begin = begins<uint32_t>(depths);
  text.stack_frames.reserve(frames.size() - 1);
  for (size_t row = 1; row < frames.size(); ++row) text.stack_frames.push_back(FrameId{frames[row]});
}

void load_layouts(Tables& t, Text& text) {
  const auto ranks = t.column(column<table::Layouts>.rank);
  const auto sizes = t.column(column<table::LayoutExtents>.size);
  const auto strides = t.column(column<table::LayoutExtents>.stride);
  t.lengths(column<table::Layouts>.rank, ranks, Table::layout_extents, sizes.size() - 1);
  if (!t.is_sound(Table::layout_extents)) t.fault(Table::layouts, "their extents are left out");
  if (!t.is_sound(Table::layouts)) return;
  text.layout_begin = begins<uint32_t>(ranks);
  text.layout_sizes.assign(sizes.begin() + 1, sizes.end());
  text.layout_strides.assign(strides.begin() + 1, strides.end());  // modulo 2^64
  text.layout_bytes.raw.assign(ranks.size(), 0);
  for (uint32_t row = 1; row < ranks.size(); ++row) {
    uint64_t total = text.layout_element_bytes.raw[row];
    for (const uint64_t size : text.sizes(LayoutId{row})) {
      if (__builtin_mul_overflow(total, size, &total))
        return t.fault(Table::layouts, "row " + std::to_string(row) + " has more than 2^64 bytes");
    }
    text.layout_bytes.raw[row] = total;
  }
}

// Whether the first process is marked as imported. load_process() reports unreadable tables.
bool is_imported(const Recording& recording, const Text& text) {
  if (recording.processes().empty()) return false;
  Tables t = Tables::of_process(recording, trace::ProcessIndex{0});
  std::vector<uint32_t> keys = t.column(column<table::Information>.key);
  t.below(column<table::Information>.key, keys, text.string_begin.size() - 2);
  if (!t.is_sound(Table::information)) return false;
  return std::ranges::any_of(keys, [&](uint32_t key) { return text.string(StringId{key}) == "imported_from"; });
}

}  // namespace

Text load_text(const Recording& recording) {
  Text text;
  Tables t = Tables::shared(recording);
  load_strings(t, text);
  const auto of_strings = [&](trace::Column<uint32_t> key, std::vector<uint32_t>& ids) {
    ids = t.column(key);
    if (!t.is_sound(Table::strings)) ids.assign(ids.size(), 0);
    t.below(key, ids, text.string_begin.size() - 2);
  };
  of_strings(column<table::Frames>.file, text.frame_file.raw);
  of_strings(column<table::Frames>.function, text.frame_function.raw);
  text.frame_line.raw = t.column(column<table::Frames>.line);
  if (!t.is_sound(Table::frames)) text.frame_file = {}, text.frame_function = {}, text.frame_line = {};
  load_stacks(t, text);
  of_strings(column<table::Layouts>.dtype, text.layout_dtype.raw);
  text.layout_element_bytes.raw = t.column(column<table::Layouts>.element_bytes);
  load_layouts(t, text);
  if (!t.is_sound(Table::layouts)) {
    text.layout_dtype = {}, text.layout_element_bytes = {}, text.layout_bytes = {};
    text.layout_begin.assign(2, 0);
    text.layout_sizes.clear();
    text.layout_strides.clear();
  }
  of_strings(column<table::Modules>.path, text.module_path.raw);
  of_strings(column<table::Modules>.type, text.module_type.raw);
  if (!t.is_sound(Table::modules)) text.module_path = {}, text.module_type = {};
  of_strings(column<table::Devices>.name, text.device_name.raw);
  if (!t.is_sound(Table::devices)) text.device_name = {};
  text.left_out = t.left_out();
  if (t.is_sound(Table::strings)) load_source_files(recording, text);
  if (t.is_sound(Table::strings)) text.is_imported = is_imported(recording, text);
  return text;
}

}  // namespace tapelens::model
