// The columns of the tables that each process has one of, as the sealer fills them.
#pragma once

#include <cstdint>
#include <tuple>

#include "trace/schema.h"
#include "trace/sealed_writer.h"

namespace tapelens::trace {

// One table: its columns, in the order of schema.h. A row is pushed whole.
template <class... T>
class TableSink {
 public:
  TableSink(SealedWriter& writer, uint32_t process, Column<T>... columns)
      : sinks_(ColumnSink<T>(writer, columns, process)...) {}

  // Returns the row's number, counted from 1: the id of what it holds.
  uint32_t push(T... values) {
    std::apply([&](auto&... sink) { (sink.push(values), ...); }, sinks_);
    return ++rows_;
  }
  void flush() {
    std::apply([](auto&... sink) { (sink.flush(), ...); }, sinks_);
  }
  uint32_t rows() const { return rows_; }

 private:
  std::tuple<ColumnSink<T>...> sinks_;
  uint32_t rows_ = 0;
};

struct ProcessColumns {
  ProcessColumns(SealedWriter& to, uint32_t of) : writer(to), process(of) {}

  SealedWriter& writer;
  uint32_t process;

  template <class... T>
  using Of = TableSink<T...>;
  using u8 = uint8_t;
  using u16 = uint16_t;
  using u32 = uint32_t;
  using u64 = uint64_t;

  Of<u32, u32> information{writer, process, column::information_key, column::information_value};
  Of<u32, u64, u64> sources{writer, process, column::source_path, column::source_bytes, column::source_hash};
  Of<u32> threads{writer, process, column::thread_os_id};
  Of<u64, u32, u16, u32, u32, u64, u8, u16, u32, u32, u32> operators{writer,
                                                                     process,
                                                                     column::operator_begin,
                                                                     column::operator_name,
                                                                     column::operator_thread,
                                                                     column::operator_stack,
                                                                     column::operator_module,
                                                                     column::operator_sequence_nr,
                                                                     column::operator_flags,
                                                                     column::operator_input_count,
                                                                     column::operator_parent,
                                                                     column::operator_evaluation,
                                                                     column::operator_written};
  Of<u32> operator_inputs{writer, process, column::input_allocation};
  Of<u32, u32, u64> input_views{writer, process, column::view_operator, column::view_layout, column::view_offset};
  Of<u32, u64> operator_ends{writer, process, column::operator_end_of, column::operator_end};
  Of<u64, u64, u8, u8, u16, u32, u32, u32, u32> allocations{writer,
                                                            process,
                                                            column::allocation_time,
                                                            column::allocation_bytes,
                                                            column::allocation_device,
                                                            column::allocation_origin,
                                                            column::allocation_thread,
                                                            column::allocation_operator,
                                                            column::allocation_evaluation,
                                                            column::allocation_stack,
                                                            column::allocation_module};
  Of<u32, u64> frees{writer, process, column::free_of, column::free_time};
  Of<u64, u32, u32, u64, u8, u16, u32, u16, u32> nodes{writer,
                                                       process,
                                                       column::node_time,
                                                       column::node_type,
                                                       column::node_operator,
                                                       column::node_sequence_nr,
                                                       column::node_flags,
                                                       column::node_edge_count,
                                                       column::node_parameter,
                                                       column::node_thread,
                                                       column::node_attributes};
  Of<u32, u16> node_edges{writer, process, column::edge_node, column::edge_input_nr};
  Of<u32, u64, u8> node_releases{writer, process, column::release_of, column::release_time, column::release_flags};
  Of<u64, u32, u32, u32, u32, u64, u32, u8> saves{writer,
                                                  process,
                                                  column::save_time,
                                                  column::save_node,
                                                  column::save_field,
                                                  column::save_index,
                                                  column::save_allocation,
                                                  column::save_offset,
                                                  column::save_layout,
                                                  column::save_flags};
  Of<u64, u32, u16, u8> evaluations{writer,
                                    process,
                                    column::evaluation_begin,
                                    column::evaluation_node,
                                    column::evaluation_thread,
                                    column::evaluation_flags};
  Of<u32, u64> evaluation_ends{writer, process, column::evaluation_end_of, column::evaluation_end};
  Of<u64, u64, u16, u8> backwards{
      writer, process, column::backward_begin, column::backward_end, column::backward_thread, column::backward_flags};
  Of<u64, u32, u8, u32, u32> roles{writer,
                                   process,
                                   column::role_time,
                                   column::role_allocation,
                                   column::role_kind,
                                   column::role_name,
                                   column::role_parameter};
  Of<u64, u32, u8, u32, u32, u32, u32, u64, u64, u32, u32, u32> rewrites{writer,
                                                                         process,
                                                                         column::rewrite_time,
                                                                         column::rewrite_id,
                                                                         column::rewrite_flags,
                                                                         column::rewrite_node,
                                                                         column::rewrite_field,
                                                                         column::rewrite_index,
                                                                         column::rewrite_reason,
                                                                         column::rewrite_bytes,
                                                                         column::rewrite_kept,
                                                                         column::rewrite_operator,
                                                                         column::rewrite_stack,
                                                                         column::rewrite_module};
  Of<u64, u64, u8, u32, u64, u64> checksums{writer,
                                            process,
                                            column::checksum_time,
                                            column::checksum_step,
                                            column::checksum_of,
                                            column::checksum_name,
                                            column::checksum_value,
                                            column::checksum_spent};
  Of<u64, u32, u16, u32> module_calls{writer,
                                      process,
                                      column::module_call_begin,
                                      column::module_call_module,
                                      column::module_call_thread,
                                      column::module_call_parent};
  Of<u32, u64> module_call_ends{writer, process, column::module_call_end_of, column::module_call_end};
  Of<u64, u64, u32> optimizer_steps{writer, process, column::optimizer_begin, column::optimizer_end,
                                    column::optimizer_name};
  Of<u64, u64, u32, u16> ranges{
      writer, process, column::range_begin, column::range_end, column::range_name, column::range_thread};
  Of<u8, u64, u64> losses{writer, process, column::loss_kind, column::loss_count, column::loss_time};
  Of<u64, u8, u64, u64> curve{
      writer, process, column::curve_time, column::curve_device, column::curve_least, column::curve_most};

  void flush() {
    const auto all = [](auto&... table) { (table.flush(), ...); };
    all(information, sources, threads, operators, operator_inputs, input_views, operator_ends, allocations, frees,
        nodes, node_edges, node_releases, saves, evaluations, evaluation_ends, backwards, roles, rewrites, checksums,
        module_calls, module_call_ends, optimizer_steps, ranges, losses, curve);
  }
};

}  // namespace tapelens::trace
