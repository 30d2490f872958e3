// See synthetic.h. A step has a forward through the layers (operators, activations, nodes, saves), a backward in
// reverse (evaluations, gradients, frees of activations), and the optimizer's operators. Other threads load batches
// concurrently.
#include "testing/synthetic.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "trace/record.h"
#include "trace/spool_writer.h"

namespace tapelens::testing {
namespace {

using namespace trace;

struct OperatorKind {
  const char* name;
  const char* inside;  // a nested view operator, or null
  const char* node;
  std::array<const char*, 2> fields;  // null: fewer saves
  bool has_parameter;
  uint64_t bytes;  // size of the output
};

constexpr uint64_t kActivation = uint64_t{8} * 128 * 256 * 4;
constexpr OperatorKind kLayer[] = {
    {"aten::native_layer_norm", nullptr, "NativeLayerNormBackward0", {"input", "result1"}, true, kActivation},
    {"aten::linear", "aten::t", "AddmmBackward0", {"mat1", "mat2"}, true, 3 * kActivation},
    {"aten::view", nullptr, "ViewBackward0", {nullptr, nullptr}, false, 0},
    {"aten::transpose", "aten::as_strided", "TransposeBackward0", {nullptr, nullptr}, false, 0},
    {"aten::matmul", "aten::bmm", "BmmBackward0", {"self", "mat2"}, false, 2 * kActivation},
    {"aten::softmax", "aten::_softmax", "SoftmaxBackward0", {"result", nullptr}, false, 2 * kActivation},
    {"aten::matmul", "aten::bmm", "BmmBackward0", {"self", "mat2"}, false, kActivation},
    {"aten::linear", "aten::t", "AddmmBackward0", {"mat1", "mat2"}, true, kActivation},
    {"aten::add", nullptr, "AddBackward0", {nullptr, nullptr}, false, kActivation},
    {"aten::native_layer_norm", nullptr, "NativeLayerNormBackward0", {"input", "result1"}, true, kActivation},
    {"aten::linear", "aten::t", "AddmmBackward0", {"mat1", "mat2"}, true, 4 * kActivation},
    {"aten::gelu", nullptr, "GeluBackward0", {"self", nullptr}, false, 4 * kActivation},
    {"aten::linear", "aten::t", "AddmmBackward0", {"mat1", "mat2"}, true, kActivation},
    {"aten::add", nullptr, "AddBackward0", {nullptr, nullptr}, false, kActivation},
};
constexpr size_t kOperatorsOfLayer = std::size(kLayer);
constexpr uint32_t kAdd = 8;  // of kLayer

// Allocates addresses like an allocator: the last freed address comes first.
class Addresses {
 public:
  uint64_t take(uint64_t bytes) {
    auto& free = free_[slot(bytes)];
    if (free.empty()) {
      next_ += (bytes + 0xfff) / 0x1000 * 0x1000 + 0x1000;
      return next_ - bytes / 64 * 64;
    }
    const uint64_t address = free.back();
    free.pop_back();
    return address;
  }
  void give(uint64_t address, uint64_t bytes) { free_[slot(bytes)].push_back(address); }

 private:
  static size_t slot(uint64_t bytes) { return bytes * 0x9e3779b97f4a7c15ULL >> 58; }
  uint64_t next_ = 0x7f0000000000;
  std::array<std::vector<uint64_t>, 64> free_;
};

class Program {
 public:
  Program(SpoolWriter& writer, const SyntheticOptions& options, uint32_t rank)
      : options_(options), layers_(options.layers), loaders_(options.threads) {
    writer.attach(main_, 1000);
    for (uint32_t i = 0; i < options.threads; ++i) writer.attach(loaders_[i], 1001 + i);
    ticks_ = ticks_now();
    intern_all(rank);
    make_parameters();
  }

  void step() {
    load_batches();
    keep();
    forward();
    backward();
    optimize();
  }
  void finish() {
    main_.finish();
    for (Lane& loader : loaders_) loader.finish();
  }
  uint64_t events() const { return events_; }

 private:
  struct Block {
    uint64_t address, bytes;
  };
  struct Node {
    uint64_t address;
    uint32_t kind, layer;
    std::vector<Block> activations;  // freed with its saves
  };
  struct Parameter {
    uint64_t storage, accumulate, gradient = 0;
  };
  static constexpr uint64_t kParameterBytes = uint64_t{256} * 1024 * 4;

  // ---- records
  uint64_t tick() {
    if (options_.rate > 0) return wait_for_next_event();
    return ticks_ += 300 + random_() % 3000 + (random_() % 16 == 0 ? random_() % 60000 : 0);
  }
  // Events are written in parts of a millisecond, each when its last event is due.
  uint64_t wait_for_next_event() {
    const uint64_t part = std::max<uint64_t>(1, options_.rate / 1000);
    if (events_ >= end_of_part_) {
      if (options_.on_pause) options_.on_pause(events_);
      end_of_part_ = events_ + part;
      const uint64_t due = begin_ns_ + static_cast<uint64_t>(static_cast<double>(end_of_part_) * 1e9 /
                                                             static_cast<double>(options_.rate));
      if (const uint64_t now = monotonic_ns(); now < due)
        std::this_thread::sleep_for(std::chrono::nanoseconds(due - now));
    }
    return ticks_ = std::max(ticks_ + 1, ticks_now());
  }
  template <class Record>
  static RecordHeader header(RecordKind kind, uint8_t flags, uint32_t id) {
    return {kind, flags, sizeof(Record) / 8, id};
  }
  template <class Record>
  void put(Lane& lane, Record record, const void* tail = nullptr, size_t bytes = 0) {
    const size_t size = (sizeof(Record) + bytes + 7) / 8 * 8;
    record.header.words = static_cast<uint16_t>(size / 8);
    if (bytes == 0) {
      events_ += lane.write(record) && is_event(record.header.kind);
      return;
    }
    auto* place = static_cast<std::byte*>(lane.reserve(size));
    if (place == nullptr) return;
    std::memcpy(place, &record, sizeof(record));
    if (bytes > 0) std::memcpy(place + sizeof(record), tail, bytes);
    lane.commit(size);
    events_ += record.header.kind >= RecordKind::operator_begin;
  }
  uint32_t string(const char* text) {
    put(main_,
        StringRecord{header<StringRecord>(RecordKind::string, 0, ++strings_), static_cast<uint32_t>(std::strlen(text)),
                     0},
        text, std::strlen(text));
    return strings_;
  }
  void event(RecordKind kind, uint8_t flags = 0, uint32_t id = 0) {
    put(main_, EventRecord{header<EventRecord>(kind, flags, id), tick()});
  }
  void op(Lane& lane, uint32_t name, std::span<const uint64_t> inputs, uint32_t stack, uint64_t sequence_nr) {
    events_ += lane.write(
        OperatorRecord{header<OperatorRecord>(RecordKind::operator_begin, 0, name), tick(), sequence_nr, stack, 0},
        inputs);
  }
  void end_op(Lane& lane) { put(lane, EventRecord{header<EventRecord>(RecordKind::operator_end, 0, 0), tick()}); }
  uint64_t allocate(Lane& lane, uint64_t bytes) {
    const uint64_t address = addresses_.take(bytes);
    put(lane, AllocationRecord{header<AllocationRecord>(RecordKind::allocation, 1, 0), tick(), address, bytes});
    return address;
  }
  void release(uint64_t address, uint64_t bytes) {
    put(main_, FreeRecord{header<FreeRecord>(RecordKind::free, 1, 0), tick(), address});
    addresses_.give(address, bytes);
  }

  // ---- records that are interned once
  struct Names {
    uint32_t op, inside, node, fields[2];
  };
  void intern_all(uint32_t rank) {
    device_name_ = string("cpu");
    put(main_, DeviceRecord{header<DeviceRecord>(RecordKind::device, 0, 1), device_name_, 0});
    const uint32_t key = string("torch_version"), value = string("2.15.0");
    put(main_, InformationRecord{header<InformationRecord>(RecordKind::information, 0, key), value, 0});
    if (options_.processes > 1)
      for (const auto& [name, number] : {std::pair{"rank", rank}, {"world_size", options_.processes}}) {
        const uint32_t id = string(name), text = string(std::to_string(number).c_str());
        put(main_, InformationRecord{header<InformationRecord>(RecordKind::information, 0, id), text, 0});
      }
    for (const OperatorKind& kind : kLayer) {
      const auto optional = [&](const char* text) { return text != nullptr ? string(text) : 0; };
      names_.push_back({string(kind.name),
                        optional(kind.inside),
                        string(kind.node),
                        {optional(kind.fields[0]), optional(kind.fields[1])}});
    }
    accumulate_grad_ = string("AccumulateGrad");
    optimizer_ = string("AdamW");
    mm_ = string("aten::mm");
    sum_ = string("aten::sum");
    add_ = string("aten::add_");
    addcdiv_ = string("aten::addcdiv_");
    empty_ = string("aten::empty");
    foreach_add_ = string("aten::_foreach_add_");
    foreach_addcdiv_ = string("aten::_foreach_addcdiv_");
    layout_type_ = string("float32");
    for (uint32_t i = 1; i <= 40; ++i) {
      const int64_t width = 32 * int64_t{i};
      const int64_t extents[6] = {8, 128, width, 128 * width, width, 1};
      put(main_, LayoutRecord{header<LayoutRecord>(RecordKind::layout, 0, i), layout_type_, 4, 3}, extents,
          sizeof(extents));
    }
    const uint32_t file = string("train.py"), model_file = string("model.py"), type = string("Block");
    uint32_t frames = 0, stacks = 0;
    const auto frame = [&](uint32_t in, uint32_t line) {
      put(main_, FrameRecord{header<FrameRecord>(RecordKind::frame, 0, ++frames), in, type, line, 0});
      return frames;
    };
    const uint32_t outer[3] = {frame(file, 10), frame(file, 20), frame(file, 30)};
    std::string prefix = "Model";
    for (uint32_t level = 0; level < options_.depth; ++level) {
      prefix += ".sub";
      put(main_,
          ModuleRecord{header<ModuleRecord>(RecordKind::module, 0, layers_ + level + 1), string(prefix.c_str()), type});
    }
    for (uint32_t layer = 0; layer < layers_; ++layer) {
      const uint32_t path = string((prefix + ".blocks." + std::to_string(layer)).c_str());
      put(main_, ModuleRecord{header<ModuleRecord>(RecordKind::module, 0, layer + 1), path, type});
      for (uint32_t kind = 0; kind < kOperatorsOfLayer; ++kind) {
        const uint32_t stack[4] = {layer == 0 ? frame(model_file, 100 + kind) : 4 + kind, outer[0], outer[1], outer[2]};
        put(main_, StackRecord{header<StackRecord>(RecordKind::stack, 0, ++stacks), 4, 0}, stack, sizeof(stack));
      }
    }
  }
  uint32_t stack_of(uint32_t layer, uint32_t kind) const {
    return static_cast<uint32_t>(layer * kOperatorsOfLayer + kind + 1);
  }

  // ---- the training
  void make_parameters() {
    for (uint32_t i = 0; i < layers_ * kOperatorsOfLayer; ++i) {
      if (!kLayer[i % kOperatorsOfLayer].has_parameter) {
        parameters_.push_back({0, 0});
        continue;
      }
      op(main_, empty_, {}, 1, UINT64_MAX);
      parameters_.push_back({allocate(main_, kParameterBytes), 0x10000 + i * 64});
      end_op(main_);
      const uint32_t name = string(
          (std::to_string(i / kOperatorsOfLayer) + "." + std::to_string(i % kOperatorsOfLayer) + ".weight").c_str());
      put(main_, RoleRecord{header<RoleRecord>(RecordKind::role, static_cast<uint8_t>(Role::parameter), name), tick(),
                            parameters_.back().storage, kParameterBytes, 0});
    }
  }

  void load_batches() {
    for (Lane& loader : loaders_) {
      op(loader, empty_, {}, 1, UINT64_MAX);
      batches_.push_back({allocate(loader, kActivation), kActivation});
      end_op(loader);
    }
  }
  void keep() {
    for (uint32_t i = 0; i < options_.kept; ++i) {
      op(main_, sum_, {&batches_[0].address, 1}, 1, UINT64_MAX);
      allocate(main_, 4096);
      end_op(main_);
    }
  }

  void forward() {
    uint64_t current = batches_[0].address, last_node = 0;
    for (uint32_t level = 0; level < options_.depth; ++level) {
      event(RecordKind::module_begin, 0, layers_ + level + 1);
      current = forward_operator(0, kAdd, {}, current, last_node);
    }
    for (uint32_t layer = 0; layer < layers_; ++layer) {
      event(RecordKind::module_begin, 0, layer + 1);
      for (uint32_t kind = 0; kind < kOperatorsOfLayer; ++kind) {
        const Parameter& parameter = parameters_[layer * kOperatorsOfLayer + kind];
        current = forward_operator(layer, kind, parameter, current, last_node);
      }
      event(RecordKind::module_end);
    }
    for (uint32_t level = 0; level < options_.depth; ++level) event(RecordKind::module_end);
  }

  uint64_t forward_operator(uint32_t layer, uint32_t kind, const Parameter& parameter, uint64_t input,
                            uint64_t& last_node) {
    const OperatorKind& k = kLayer[kind];
    const Names& n = names_[kind];
    const uint64_t inputs[2] = {input, parameter.storage};
    op(main_, n.op, {inputs, k.has_parameter ? size_t{2} : size_t{1}}, stack_of(layer, kind), sequence_);
    if (n.inside != 0) {
      op(main_, n.inside, {inputs + (k.has_parameter ? 1 : 0), 1}, 0, sequence_);
      end_op(main_);
    }
    Node node{0x20000000 + ++made_ % most_nodes_ * 320, kind, layer, {}};
    uint64_t output = input;
    if (k.bytes > 0) {
      output = allocate(main_, k.bytes);
      node.activations.push_back({output, k.bytes});
    }
    if (k.has_parameter)
      put(main_, NodeRecord{header<NodeRecord>(RecordKind::node, kNodeIsAccumulateGrad, accumulate_grad_), tick(),
                            parameter.accumulate, UINT64_MAX, parameter.storage, 0, 0});
    const NodeEdge edges[2] = {{last_node, 0}, {parameter.accumulate, 0}};
    put(main_, NodeRecord{header<NodeRecord>(RecordKind::node, 0, n.node), tick(), node.address, sequence_++, 0, 0, 0},
        edges, (k.has_parameter ? 2 : 1) * sizeof(NodeEdge));
    const uint64_t saved[2] = {input, k.has_parameter ? parameter.storage : output};
    for (int i = 0; i < 2; ++i)
      if (n.fields[i] != 0)
        put(main_,
            SaveRecord{header<SaveRecord>(RecordKind::save, i == 1 ? uint8_t{kSaveIsOutput} : uint8_t{0}, n.fields[i]),
                       tick(), node.address, saved[i], k.bytes, 0, 1 + (kind * 2 + static_cast<uint32_t>(i)) % 40, 0});
    end_op(main_);
    last_node = node.address;
    nodes_.push_back(std::move(node));
    return output;
  }

  void backward() {
    event(RecordKind::backward_begin);
    Block gradient{0, 0};
    while (!nodes_.empty()) {
      const Node node = std::move(nodes_.back());
      nodes_.pop_back();
      const OperatorKind& kind = kLayer[node.kind];
      put(main_, EvaluationRecord{header<EvaluationRecord>(RecordKind::evaluation_begin, kEvaluationReleases, 0),
                                  tick(), node.address});
      const uint64_t inputs[2] = {gradient.address, node.activations.empty() ? 0 : node.activations[0].address};
      Block next = gradient;
      if (kind.bytes > 0) {
        op(main_, mm_, inputs, 0, UINT64_MAX);
        next = {allocate(main_, kind.bytes), kind.bytes};
        end_op(main_);
      }
      Parameter& parameter = parameters_[node.layer * kOperatorsOfLayer + node.kind];
      if (kind.has_parameter) {
        op(main_, sum_, {inputs, 1}, 0, UINT64_MAX);
        parameter.gradient = allocate(main_, kParameterBytes);
        end_op(main_);
      }
      event(RecordKind::evaluation_end);
      if (kind.has_parameter) {
        put(main_, EvaluationRecord{header<EvaluationRecord>(RecordKind::evaluation_begin, 0, 0), tick(),
                                    parameter.accumulate});
        put(main_, RoleRecord{header<RoleRecord>(RecordKind::role, static_cast<uint8_t>(Role::gradient), layout_type_),
                              tick(), parameter.gradient, kParameterBytes, parameter.storage});
        event(RecordKind::evaluation_end);
      }
      if (next.address != gradient.address && gradient.address != 0) release(gradient.address, gradient.bytes);
      gradient = next;
      for (const Block& block : node.activations) release(block.address, block.bytes);
      put(main_,
          NodeReleaseRecord{header<NodeReleaseRecord>(RecordKind::node_release, kNodeDied, 0), tick(), node.address});
    }
    release(gradient.address, gradient.bytes);
    for (const Block& batch : batches_) release(batch.address, batch.bytes);
    batches_.clear();
    event(RecordKind::backward_end);
  }

  void update_together() {
    std::vector<uint64_t> inputs;
    for (const Parameter& parameter : parameters_)
      if (parameter.storage != 0) inputs.insert(inputs.end(), {parameter.storage, parameter.gradient});
    constexpr size_t kMost = 4096;  // so that the record fits in a block
    for (size_t begin = 0; begin < inputs.size(); begin += kMost)
      for (const uint32_t name : {foreach_add_, foreach_addcdiv_}) {
        op(main_, name, std::span(inputs).subspan(begin, std::min(kMost, inputs.size() - begin)), 2, UINT64_MAX);
        end_op(main_);
      }
  }
  void optimize() {
    event(RecordKind::optimizer_begin, 0, optimizer_);
    if (options_.foreach_optimizer) update_together();
    for (Parameter& parameter : parameters_) {
      if (parameter.storage == 0) continue;
      const uint64_t inputs[3] = {parameter.storage, parameter.gradient, parameter.storage};
      for (const uint32_t name : {add_, addcdiv_}) {
        if (options_.foreach_optimizer) break;
        op(main_, name, inputs, 2, UINT64_MAX);
        end_op(main_);
      }
      release(parameter.gradient, kParameterBytes);
    }
    event(RecordKind::optimizer_end);
  }

  const SyntheticOptions options_;
  const uint32_t layers_;
  const uint64_t most_nodes_ =
      std::max<uint64_t>(4096, 2 * (options_.depth + layers_ * kOperatorsOfLayer));  // alive at once
  Lane main_;
  std::vector<Lane> loaders_;
  std::minstd_rand random_{7};
  uint64_t ticks_ = 0, events_ = 0, sequence_ = 0, made_ = 0;
  const uint64_t begin_ns_ = monotonic_ns();
  uint64_t end_of_part_ = 0;  // in events
  uint32_t strings_ = 0, device_name_ = 0, accumulate_grad_ = 0, optimizer_ = 0, layout_type_ = 0;
  uint32_t mm_ = 0, sum_ = 0, add_ = 0, addcdiv_ = 0, empty_ = 0, foreach_add_ = 0, foreach_addcdiv_ = 0;
  std::vector<Names> names_;
  std::vector<Parameter> parameters_;
  std::vector<Node> nodes_;
  std::vector<Block> batches_;
  Addresses addresses_;
};

}  // namespace

Result<SyntheticSpool> write_synthetic_spool(const std::string& path, const SyntheticOptions& options, uint32_t rank) {
  SpoolWriter writer;
  SpoolLimits limits;
  limits.max_bytes = uint64_t{1} << 40;
  if (const int error = writer.open(path.c_str(), limits); error != 0)
    return Error{path + ": cannot be written: " + std::strerror(error) + ": choose another place"};
  SyntheticSpool written;
  Program program(writer, options, rank);
  do {
    program.step();
    ++written.steps;
  } while (program.events() < options.events && written.steps < options.steps && !writer.stopped());
  const bool is_whole = !writer.stopped();
  program.finish();
  writer.finish();
  writer.close();
  written.events = program.events();
  if (!is_whole) return Error{path + ": the disk is full: free some space"};
  if (rank > 0) {  // this process writes the spools of all
    const uint32_t pid = static_cast<uint32_t>(getpid()) + rank;
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offsetof(SpoolHeader, pid));
    file.write(reinterpret_cast<const char*>(&pid), sizeof(pid));
    if (!file.flush()) return Error{path + ": cannot be written: choose another place"};
  }
  return written;
}

Result<SyntheticSpool> write_synthetic_spools(const std::string& folder, const SyntheticOptions& options) {
  SyntheticSpool all;
  for (uint32_t rank = 0; rank < options.processes; ++rank) {
    const auto written = write_synthetic_spool(folder + "/" + std::to_string(rank) + ".spool", options, rank);
    if (!written) return written.error();
    all.events += written->events;
    all.steps += written->steps;
  }
  return all;
}

}  // namespace tapelens::testing
