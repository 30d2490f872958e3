// Builds a small Process by hand, row by row in time order, for the tests of the analyzer.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/model.h"
#include "analyzer/model/text.h"
#include "trace/record.h"

namespace tapelens::testing {

using namespace model;

class TextBuilder {
 public:
  Text text;

  TextBuilder() {
    text.stack_begin = {0, 0};
    text.device_name.raw.push_back(string("cpu").value);
    text.device_name.raw.push_back(string("cuda:0").value);
  }

  StringId string(std::string_view value) {
    if (value.empty()) return {};
    const auto [at, fresh] = ids_.try_emplace(std::string(value), StringId{static_cast<uint32_t>(ids_.size() + 1)});
    if (fresh) {
      text.bytes += value;
      text.string_begin.push_back(text.bytes.size());
    }
    return at->second;
  }

  FrameId frame(std::string_view file, uint32_t line, std::string_view function) {
    text.frame_file.raw.push_back(string(file).value);
    text.frame_function.raw.push_back(string(function).value);
    text.frame_line.raw.push_back(line);
    return FrameId{text.frame_line.rows()};
  }

  // Innermost first.
  StackId stack(const std::vector<FrameId>& frames) {
    text.stack_frames.insert(text.stack_frames.end(), frames.begin(), frames.end());
    text.stack_begin.push_back(static_cast<uint32_t>(text.stack_frames.size()));
    return StackId{static_cast<uint32_t>(text.stack_begin.size() - 2)};
  }

  LayoutId layout(std::string_view dtype, uint64_t element_bytes, const std::vector<uint64_t>& sizes) {
    uint64_t bytes = element_bytes;
    for (const uint64_t size : sizes) bytes *= size;
    text.layout_dtype.raw.push_back(string(dtype).value);
    text.layout_bytes.raw.push_back(bytes);
    text.layout_sizes.insert(text.layout_sizes.end(), sizes.begin(), sizes.end());
    std::vector<int64_t> strides(sizes.size(), 1);
    for (size_t at = sizes.size(); at-- > 1;) strides[at - 1] = strides[at] * static_cast<int64_t>(sizes[at]);
    text.layout_strides.insert(text.layout_strides.end(), strides.begin(), strides.end());
    text.layout_element_bytes.raw.push_back(static_cast<uint16_t>(element_bytes));
    text.layout_begin.push_back(static_cast<uint32_t>(text.layout_sizes.size()));
    return LayoutId{text.layout_bytes.rows()};
  }

  ModuleId module(std::string_view path, std::string_view type) {
    text.module_path.raw.push_back(string(path).value);
    text.module_type.raw.push_back(string(type).value);
    return ModuleId{text.module_path.rows()};
  }

 private:
  std::map<std::string, StringId> ids_;
};

inline constexpr DeviceId kCpu{1}, kCuda{2};

class ProcessBuilder : public TextBuilder {
 public:
  Process process;

  ProcessBuilder() {
    process.summary.pid = 100;
    process.summary.finished = true;
    process.duration = Time{1'000'000};
  }

  OperatorId op(int64_t begin, int64_t end, std::string_view name, OperatorId parent = {}, StackId stack = {},
                const std::vector<AllocationId>& inputs = {}) {
    Operators& t = process.operators;
    push(t.begin, begin);
    push(t.end, end);
    t.name.raw.push_back(string(name).value);
    t.stack.raw.push_back(stack.value);
    t.module_call.raw.push_back(0);
    t.parent.raw.push_back(parent.value);
    t.evaluation.raw.push_back(0);
    t.input_count.raw.push_back(static_cast<uint16_t>(inputs.size()));
    t.written.raw.push_back(name.ends_with("_") ? 1 : 0);  // an in-place operator
    for (const AllocationId input : inputs) t.inputs.push_back(input.value);
    return OperatorId{t.rows()};
  }

  // The input view of the last operator, a copying one with one input.
  void view(OperatorId op, LayoutId layout, uint64_t offset = 0) {
    process.input_views.op.raw.push_back(op.value);
    process.input_views.layout.raw.push_back(layout.value);
    process.input_views.offset.raw.push_back(offset);
  }

  AllocationId allocate(int64_t time, int64_t bytes, OperatorId op = {}, DeviceId device = kCpu,
                        EvaluationId evaluation = {}, Origin origin = Origin::allocator) {
    Allocations& t = process.allocations;
    push(t.time, time);
    push(t.bytes, bytes);
    t.device.raw.push_back(static_cast<uint8_t>(device.value));
    t.origin.raw.push_back(static_cast<uint8_t>(origin));
    t.op.raw.push_back(op.value);
    t.evaluation.raw.push_back(evaluation.value);
    t.stack.raw.push_back(0);
    t.module_call.raw.push_back(0);
    return AllocationId{t.rows()};
  }

  // A request for which `device` had no memory.
  void out_of_memory(int64_t time, int64_t bytes, DeviceId device) {
    OutOfMemory& t = process.out_of_memory;
    push(t.time, time);
    t.device.raw.push_back(static_cast<uint8_t>(device.value));
    push(t.bytes, bytes);
    push(t.allocated, 0);
    push(t.reserved, 0);
    t.free.raw.push_back(UINT64_MAX);
    t.op.raw.push_back(0);
    t.stack.raw.push_back(0);
    t.module_call.raw.push_back(0);
  }

  void free(int64_t time, AllocationId allocation) {
    process.frees.of.raw.push_back(allocation.value);
    push(process.frees.time, time);
  }

  NodeId node(int64_t time, std::string_view type, OperatorId op = {}, AllocationId parameter = {},
              const std::vector<NodeId>& edges = {}, std::string_view attributes = {}) {
    Nodes& t = process.nodes;
    push(t.time, time);
    t.type.raw.push_back(string(type).value);
    t.op.raw.push_back(op.value);
    t.flags.raw.push_back(parameter ? trace::kNodeIsAccumulateGrad : 0);
    t.parameter.raw.push_back(parameter.value);
    t.attributes.raw.push_back(string(attributes).value);
    for (const NodeId edge : edges) t.edges.push_back(edge.value);
    t.edge_count.raw.push_back(static_cast<uint16_t>(t.edges.size() - t.edge_begin.back()));
    t.edge_begin.push_back(t.edges.size());
    return NodeId{t.rows()};
  }

  SaveId save(int64_t time, NodeId node, std::string_view field, AllocationId allocation, LayoutId layout = {},
              uint8_t flags = 0) {
    Saves& t = process.saves;
    push(t.time, time);
    push(t.released, kNever.ns);
    t.node.raw.push_back(node.value);
    t.field.raw.push_back(string(field).value);
    t.index.raw.push_back(0);
    t.allocation.raw.push_back(allocation.value);
    t.layout.raw.push_back(layout.value);
    t.offset.raw.push_back(0);
    t.flags.raw.push_back(flags);
    t.stack.raw.push_back(0);
    return SaveId{t.rows()};
  }

  void release(int64_t time, NodeId node, uint8_t flags = trace::kNodeDied) {
    process.releases.of.raw.push_back(node.value);
    push(process.releases.time, time);
    process.releases.flags.raw.push_back(flags);
  }

  // Skipped if `reason` is not empty. Without a node: a rewrite of the operator.
  RewriteId rewrite(int64_t time, std::string_view rewrite, int level, NodeId node, std::string_view field,
                    int64_t bytes, int64_t kept = 0, std::string_view reason = {}, OperatorId op = {}) {
    Rewrites& t = process.rewrites;
    push(t.time, time);
    t.rewrite.raw.push_back(string(rewrite).value);
    t.flags.raw.push_back(static_cast<uint8_t>(level | (reason.empty() ? 0 : trace::kRewriteSkipped)));
    t.node.raw.push_back(node.value);
    t.field.raw.push_back(string(field).value);
    t.index.raw.push_back(0);
    t.reason.raw.push_back(string(reason).value);
    push(t.bytes, bytes);
    push(t.kept, kept);
    t.op.raw.push_back(op.value);
    t.stack.raw.push_back(0);
    t.module_call.raw.push_back(0);
    return RewriteId{t.rows()};
  }

  void checksum(int64_t time, uint64_t step, trace::ChecksumOf of, std::string_view name, uint64_t value,
                int64_t spent = 0) {
    Checksums& t = process.checksums;
    push(t.time, time);
    t.step.raw.push_back(step);
    t.of.raw.push_back(static_cast<uint8_t>(of));
    t.name.raw.push_back(string(name).value);
    t.value.raw.push_back(value);
    push(t.spent, spent);
  }

  EvaluationId evaluate(int64_t begin, int64_t end, NodeId node, bool releases = false) {
    Evaluations& t = process.evaluations;
    push(t.begin, begin);
    push(t.end, end);
    t.node.raw.push_back(node.value);
    t.flags.raw.push_back(releases ? trace::kEvaluationReleases : 0);
    return EvaluationId{t.rows()};
  }

  EvaluationId unpack(int64_t begin, int64_t end) {  // a hook of the program on a saved tensor
    const EvaluationId id = evaluate(begin, end, {});
    process.evaluations.flags.raw.back() = trace::kEvaluationUnpacks;
    return id;
  }

  HeldId held(int64_t time, AllocationId allocation, trace::HeldBy by, std::string_view field, NodeId node = {}) {
    Held& t = process.held;
    push(t.time, time);
    t.node.raw.push_back(node.value);
    t.field.raw.push_back(string(field).value);
    t.allocation.raw.push_back(allocation.value);
    t.by.raw.push_back(static_cast<uint8_t>(by));
    return HeldId{t.rows()};
  }

  void variable(int64_t time, AllocationId allocation, std::string_view name) {
    Variables& t = process.variables;
    push(t.time, time);
    t.allocation.raw.push_back(allocation.value);
    t.name.raw.push_back(string(name).value);
  }

  RoleId role(int64_t time, AllocationId allocation, Role kind, std::string_view name, AllocationId parameter = {}) {
    Roles& t = process.roles;
    push(t.time, time);
    t.allocation.raw.push_back(allocation.value);
    t.kind.raw.push_back(static_cast<uint8_t>(kind));
    t.name.raw.push_back(string(name).value);
    t.parameter.raw.push_back(parameter.value);
    return RoleId{t.rows()};
  }

  ModuleCallId call(int64_t begin, int64_t end, ModuleId module, ModuleCallId parent = {}, uint8_t flags = 0) {
    ModuleCalls& t = process.module_calls;
    push(t.begin, begin);
    push(t.end, end);
    t.module.raw.push_back(module.value);
    t.parent.raw.push_back(parent.value);
    t.flags.raw.push_back(flags);
    return ModuleCallId{t.rows()};
  }

  void backward(int64_t begin, int64_t end, uint8_t flags = 0) {
    process.backwards.push_back({{Time{begin}, Time{end}}, flags});
  }
  void optimizer_step(int64_t begin, int64_t end, std::string_view optimizer = "SGD") {
    process.optimizer_steps.push_back({{Time{begin}, Time{end}}, string(optimizer)});
  }
  void range(int64_t begin, int64_t end, std::string_view name) {
    process.ranges.push_back({{Time{begin}, Time{end}}, string(name), 7});
  }

  const Process& done() {
    join(process);
    return process;
  }

 private:
  template <class Column>
  static void push(Column& column, int64_t value) {
    column.raw.push_back(static_cast<uint64_t>(value));
  }
};

}  // namespace tapelens::testing
