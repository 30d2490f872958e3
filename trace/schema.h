// The tables and columns of a sealed recording: what each holds, in which unit, and how it is stored.
// A column's number is in files and is never reused; a reader skips numbers it does not know.
//
// Rows count from 1, so that an id is a row and 0 is none. Tables are per process, except those of `shared`.
// Ends (of an operator, an allocation, ...) are tables of their own, in the order of time, because they are only known
// later: a sealer can stream. Rows of a table are in the order of time unless said.
#pragma once

#include <cstdint>
#include <type_traits>

#include "trace/types.h"

namespace tapelens::trace {

enum class Table : uint8_t {
  // shared by all processes
  string_bytes = 1,  // the UTF-8 text of all strings, one after another
  strings = 2,
  frames = 3,
  stacks = 4,
  stack_frames = 5,
  layouts = 6,
  layout_extents = 7,
  modules = 8,
  devices = 9,
  // one each process
  information = 20,
  threads = 21,
  operators = 22,
  operator_inputs = 23,
  operator_ends = 24,
  allocations = 25,
  frees = 26,
  nodes = 27,
  node_edges = 28,
  node_releases = 29,
  saves = 30,
  evaluations = 31,
  evaluation_ends = 32,
  backwards = 33,
  roles = 34,
  module_calls = 35,
  module_call_ends = 36,
  optimizer_steps = 37,
  ranges = 38,
  losses = 39,
  curve = 40,
  input_views = 41,  // of operators that copy: as many rows as they have inputs, in the order of the operators
  rewrites = 42,     // what was rewritten, and what was not and why
  checksums = 43,    // of losses, gradients and parameters: only where `tapelens verify` asked for them
  sources = 44,      // what the files that frames name held when they ran
};

// How a column's values are turned before compression: as they are, or each minus the one before it.
enum class Transform : uint8_t { plain = 0, delta = 1 };

struct ColumnKey {
  Table table{};
  uint8_t number = 0;  // within the table
  uint8_t width = 0;   // bytes of a value: 1, 2, 4, 8
  Transform transform{};
  const char* name = "";
};

template <class T>
struct Column : ColumnKey {
  static_assert(std::is_unsigned_v<T>);
  constexpr Column(Table t, uint8_t n, Transform tr, const char* text)
      : ColumnKey{t, n, uint8_t{sizeof(T)}, tr, text} {}
};

namespace column {
using enum Transform;
using enum Table;

// ---- shared
inline constexpr Column<uint8_t> string_byte{string_bytes, 0, plain, "byte"};
inline constexpr Column<uint32_t> string_length{strings, 0, plain, "bytes"};
inline constexpr Column<uint32_t> frame_file{frames, 0, plain, "file"};          // StringId
inline constexpr Column<uint32_t> frame_function{frames, 1, plain, "function"};  // StringId
inline constexpr Column<uint32_t> frame_line{frames, 2, plain, "line"};          // from 1; 0 is unknown
inline constexpr Column<uint32_t> stack_depth{stacks, 0, plain, "depth"};        // rows in stack_frames
inline constexpr Column<uint32_t> stack_frame{stack_frames, 0, plain, "frame"};  // FrameId, innermost first
inline constexpr Column<uint32_t> layout_dtype{layouts, 0, plain, "dtype"};      // StringId
inline constexpr Column<uint16_t> layout_element_bytes{layouts, 1, plain, "element_bytes"};
inline constexpr Column<uint16_t> layout_rank{layouts, 2, plain, "rank"};
inline constexpr Column<uint64_t> layout_size{layout_extents, 0, plain, "size"};      // elements
inline constexpr Column<uint64_t> layout_stride{layout_extents, 1, plain, "stride"};  // elements, signed
inline constexpr Column<uint32_t> module_path{modules, 0, plain, "path"};             // StringId
inline constexpr Column<uint32_t> module_type{modules, 1, plain, "type"};             // StringId
inline constexpr Column<uint32_t> device_name{devices, 0, plain, "name"};             // StringId

// ---- one each process
inline constexpr Column<uint32_t> information_key{information, 0, plain, "key"};      // StringId
inline constexpr Column<uint32_t> information_value{information, 1, plain, "value"};  // StringId
inline constexpr Column<uint32_t> thread_os_id{threads, 0, plain, "os_id"};

inline constexpr Column<uint64_t> operator_begin{operators, 0, delta, "begin"};    // Time
inline constexpr Column<uint32_t> operator_name{operators, 1, plain, "name"};      // StringId
inline constexpr Column<uint16_t> operator_thread{operators, 2, plain, "thread"};  // row of threads
inline constexpr Column<uint32_t> operator_stack{operators, 3, plain, "stack"};
inline constexpr Column<uint32_t> operator_module{operators, 4, plain, "module_call"};       // ModuleCallId
inline constexpr Column<uint64_t> operator_sequence_nr{operators, 5, delta, "sequence_nr"};  // UINT64_MAX: none
inline constexpr Column<uint8_t> operator_flags{operators, 6, plain, "flags"};
inline constexpr Column<uint16_t> operator_input_count{operators, 7, plain, "input_count"};  // rows in operator_inputs
inline constexpr Column<uint32_t> operator_parent{operators, 8, delta, "parent"};            // OperatorId around it
inline constexpr Column<uint32_t> operator_evaluation{operators, 9, delta, "evaluation"};    // EvaluationId around it
inline constexpr Column<uint32_t> operator_written{operators, 10, plain, "written"};  // bits of inputs: OperatorRecord
inline constexpr Column<uint32_t> input_allocation{operator_inputs, 0, delta, "allocation"};
inline constexpr Column<uint32_t> view_operator{input_views, 0, delta, "operator"};
inline constexpr Column<uint32_t> view_layout{input_views, 1, plain, "layout"};
inline constexpr Column<uint64_t> view_offset{input_views, 2, plain, "storage_offset"};  // elements
inline constexpr Column<uint32_t> operator_end_of{operator_ends, 0, delta, "operator"};
inline constexpr Column<uint64_t> operator_end{operator_ends, 1, delta, "end"};

inline constexpr Column<uint64_t> allocation_time{allocations, 0, delta, "time"};
inline constexpr Column<uint64_t> allocation_bytes{allocations, 1, plain, "bytes"};
inline constexpr Column<uint8_t> allocation_device{allocations, 2, plain, "device"};  // row of devices
inline constexpr Column<uint8_t> allocation_origin{allocations, 3, plain, "origin"};
inline constexpr Column<uint16_t> allocation_thread{allocations, 4, plain, "thread"};
inline constexpr Column<uint32_t> allocation_operator{allocations, 5, delta, "operator"};  // innermost open
inline constexpr Column<uint32_t> allocation_evaluation{allocations, 6, delta, "evaluation"};
inline constexpr Column<uint32_t> allocation_stack{allocations, 7, plain, "stack"};  // 0: that of its operator
inline constexpr Column<uint32_t> allocation_module{allocations, 8, plain, "module_call"};
inline constexpr Column<uint32_t> free_of{frees, 0, delta, "allocation"};
inline constexpr Column<uint64_t> free_time{frees, 1, delta, "time"};

inline constexpr Column<uint64_t> node_time{nodes, 0, delta, "time"};
inline constexpr Column<uint32_t> node_type{nodes, 1, plain, "type"};  // StringId
inline constexpr Column<uint32_t> node_operator{nodes, 2, delta, "operator"};
inline constexpr Column<uint64_t> node_sequence_nr{nodes, 3, delta, "sequence_nr"};
inline constexpr Column<uint8_t> node_flags{nodes, 4, plain, "flags"};
inline constexpr Column<uint16_t> node_edge_count{nodes, 5, plain, "edge_count"};
inline constexpr Column<uint32_t> node_parameter{nodes, 6, plain, "parameter"};  // AllocationId, AccumulateGrad only
inline constexpr Column<uint16_t> node_thread{nodes, 7, plain, "thread"};
inline constexpr Column<uint32_t> node_attributes{nodes, 8, plain, "attributes"};  // StringId: "training=False"
inline constexpr Column<uint32_t> edge_node{node_edges, 0, delta, "node"};
inline constexpr Column<uint16_t> edge_input_nr{node_edges, 1, plain, "input_nr"};
inline constexpr Column<uint32_t> release_of{node_releases, 0, delta, "node"};
inline constexpr Column<uint64_t> release_time{node_releases, 1, delta, "time"};
inline constexpr Column<uint8_t> release_flags{node_releases, 2, plain, "flags"};

inline constexpr Column<uint64_t> save_time{saves, 0, delta, "time"};
inline constexpr Column<uint32_t> save_node{saves, 1, delta, "node"};
inline constexpr Column<uint32_t> save_field{saves, 2, plain, "field"};  // StringId
inline constexpr Column<uint32_t> save_index{saves, 3, plain, "index"};
inline constexpr Column<uint32_t> save_allocation{saves, 4, delta, "allocation"};
inline constexpr Column<uint64_t> save_offset{saves, 5, plain, "storage_offset"};  // elements
inline constexpr Column<uint32_t> save_layout{saves, 6, plain, "layout"};
inline constexpr Column<uint8_t> save_flags{saves, 7, plain, "flags"};

inline constexpr Column<uint64_t> evaluation_begin{evaluations, 0, delta, "begin"};
inline constexpr Column<uint32_t> evaluation_node{evaluations, 1, delta, "node"};
inline constexpr Column<uint16_t> evaluation_thread{evaluations, 2, plain, "thread"};
inline constexpr Column<uint8_t> evaluation_flags{evaluations, 3, plain, "flags"};
inline constexpr Column<uint32_t> evaluation_end_of{evaluation_ends, 0, delta, "evaluation"};
inline constexpr Column<uint64_t> evaluation_end{evaluation_ends, 1, delta, "end"};

// Few and long: written when they end, so in the order of their ends. A begin without an end has end UINT64_MAX.
inline constexpr Column<uint64_t> backward_begin{backwards, 0, plain, "begin"};
inline constexpr Column<uint64_t> backward_end{backwards, 1, plain, "end"};
inline constexpr Column<uint16_t> backward_thread{backwards, 2, plain, "thread"};
inline constexpr Column<uint8_t> backward_flags{backwards, 3, plain, "flags"};
inline constexpr Column<uint64_t> optimizer_begin{optimizer_steps, 0, plain, "begin"};
inline constexpr Column<uint64_t> optimizer_end{optimizer_steps, 1, plain, "end"};
inline constexpr Column<uint32_t> optimizer_name{optimizer_steps, 2, plain, "name"};  // StringId, one each object
inline constexpr Column<uint64_t> range_begin{ranges, 0, plain, "begin"};
inline constexpr Column<uint64_t> range_end{ranges, 1, plain, "end"};
inline constexpr Column<uint32_t> range_name{ranges, 2, plain, "name"};
inline constexpr Column<uint16_t> range_thread{ranges, 3, plain, "thread"};

inline constexpr Column<uint64_t> role_time{roles, 0, delta, "time"};
inline constexpr Column<uint32_t> role_allocation{roles, 1, plain, "allocation"};
inline constexpr Column<uint8_t> role_kind{roles, 2, plain, "role"};
inline constexpr Column<uint32_t> role_name{roles, 3, plain, "name"};
inline constexpr Column<uint32_t> role_parameter{roles, 4, plain, "parameter"};  // AllocationId

inline constexpr Column<uint64_t> rewrite_time{rewrites, 0, delta, "time"};
inline constexpr Column<uint32_t> rewrite_id{rewrites, 1, plain, "rewrite"};  // StringId
inline constexpr Column<uint8_t> rewrite_flags{rewrites, 2, plain, "flags"};
inline constexpr Column<uint32_t> rewrite_node{rewrites, 3, delta, "node"};
inline constexpr Column<uint32_t> rewrite_field{rewrites, 4, plain, "field"};  // StringId
inline constexpr Column<uint32_t> rewrite_index{rewrites, 5, plain, "index"};
inline constexpr Column<uint32_t> rewrite_reason{rewrites, 6, plain, "reason"};  // StringId; 0: it was applied
inline constexpr Column<uint64_t> rewrite_bytes{rewrites, 7, plain, "bytes"};
inline constexpr Column<uint64_t> rewrite_kept{rewrites, 8, plain, "kept"};          // bytes
inline constexpr Column<uint32_t> rewrite_operator{rewrites, 9, delta, "operator"};  // innermost open
inline constexpr Column<uint32_t> rewrite_stack{rewrites, 10, plain, "stack"};       // 0: that of its operator
inline constexpr Column<uint32_t> rewrite_module{rewrites, 11, plain, "module_call"};

inline constexpr Column<uint64_t> checksum_time{checksums, 0, delta, "time"};
inline constexpr Column<uint64_t> checksum_step{checksums, 1, delta, "step"};
inline constexpr Column<uint8_t> checksum_of{checksums, 2, plain, "of"};       // ChecksumOf
inline constexpr Column<uint32_t> checksum_name{checksums, 3, plain, "name"};  // StringId
inline constexpr Column<uint64_t> checksum_value{checksums, 4, plain, "value"};
inline constexpr Column<uint64_t> checksum_spent{checksums, 5, plain, "spent"};  // ns

inline constexpr Column<uint32_t> source_path{sources, 0, plain, "path"};  // StringId
inline constexpr Column<uint64_t> source_bytes{sources, 1, plain, "bytes"};
inline constexpr Column<uint64_t> source_hash{sources, 2, plain, "hash"};  // XXH3_64 of them

inline constexpr Column<uint64_t> module_call_begin{module_calls, 0, delta, "begin"};
inline constexpr Column<uint32_t> module_call_module{module_calls, 1, plain, "module"};
inline constexpr Column<uint16_t> module_call_thread{module_calls, 2, plain, "thread"};
inline constexpr Column<uint32_t> module_call_parent{module_calls, 3, delta, "parent"};
inline constexpr Column<uint32_t> module_call_end_of{module_call_ends, 0, delta, "module_call"};
inline constexpr Column<uint64_t> module_call_end{module_call_ends, 1, delta, "end"};

inline constexpr Column<uint8_t> loss_kind{losses, 0, plain, "kind"};  // Loss
inline constexpr Column<uint64_t> loss_count{losses, 1, plain, "count"};
inline constexpr Column<uint64_t> loss_time{losses, 2, plain, "since"};

// The least and the most live bytes of a device in each run of 256 allocations and frees: the finest level of the
// pyramid that a timeline draws from. The coarser levels are folds of 4 and made when read.
inline constexpr Column<uint64_t> curve_time{curve, 0, plain, "begin"};
inline constexpr Column<uint8_t> curve_device{curve, 1, plain, "device"};
inline constexpr Column<uint64_t> curve_least{curve, 2, plain, "least"};
inline constexpr Column<uint64_t> curve_most{curve, 3, plain, "most"};
}  // namespace column

}  // namespace tapelens::trace
