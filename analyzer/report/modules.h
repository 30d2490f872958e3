// The bytes that each module holds of each category, at the peak of each phase.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/steps.h"
#include "analyzer/peak/groups.h"
#include "analyzer/peak/holders.h"
#include "analyzer/peak/timeline.h"

namespace tapelens::report {

struct ModuleRow {
  std::string module;  // "(outside of modules)": no module
  model::Bytes bytes;
  uint64_t allocations = 0;
  std::array<model::Bytes, peak::kHolderKinds> by_kind{};  // sum to `bytes`
  model::AllocationId largest;
  model::Bytes largest_bytes;

  void add(const ModuleRow& other) {
    bytes += other.bytes;
    allocations += other.allocations;
    for (size_t kind = 0; kind < peak::kHolderKinds; ++kind) by_kind[kind] += other.by_kind[kind];
    if (other.largest_bytes > largest_bytes) {
      largest = other.largest;
      largest_bytes = other.largest_bytes;
    }
  }
};

// One moment: the peak of a phase, or the report's moment.
struct ModuleTable {
  model::Phase phase{};
  bool is_chosen = false;  // this is the report's moment
  model::Bytes bytes;      // live bytes
  peak::Moment when;
  uint32_t step = 0;
  std::vector<peak::Category> by_category;
  std::vector<ModuleRow> rows;  // the most bytes first; sum to `bytes`, with `rest`
  ModuleRow rest;               // by --top
  uint64_t rows_left_out = 0;
};

// The rows of a table for people. Modules that differ only in numbers and hold the same bytes of each kind are one row.
struct ModuleLines {
  struct Line {
    ModuleRow row;         // the sum; `module` is the path below `parent`: "encoder.layer.{0-3}.attention.self"
    uint64_t modules = 1;  // rows of the table in this line
  };
  std::string parent;       // the path that begins all paths; empty: none
  std::vector<Line> lines;  // the most bytes first
  Line rest;                // the sum of the rows that `lines` leaves out; `modules` counts them
  ModuleRow all;            // the sum of the table
};
// At most `most` lines.
ModuleLines lines_of(const ModuleTable& table, size_t most);
// "encoder.layer.{0-3}.attention.self  x4", at most `width` columns.
std::string name_text(const ModuleLines::Line& line, unsigned width);
// The heading of the column of modules: "module", "module below Model.layers".
std::string module_heading(const ModuleLines& lines);

// "GPT.blocks.3" of "GPT.blocks.3.attention.query" at depth 2: so many levels below the outermost module.
std::string_view module_at(std::string_view path, std::optional<unsigned> depth);

// The kinds of which some table has bytes: parameters, gradients and other roles first, then what is saved or kept for
// the backward otherwise, then the rest.
std::vector<peak::HolderKind> columns_of(const std::vector<ModuleTable>& tables);
// The heading of a column: "parameters", "saved", "temporaries".
std::string heading(peak::HolderKind kind);
// The width of a column of figures under that heading, in characters of a terminal.
unsigned column_width(std::string_view heading);
// "Forward: at most 61.0 MiB, in step 2".
std::string title_text(const ModuleTable& table);

}  // namespace tapelens::report
