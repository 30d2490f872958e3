// Small recordings that use every column of the schema. checks_columns_test.cpp changes the columns.
#pragma once

#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "testing/trace_builder.h"
#include "trace/checksum.h"

namespace tapelens::testing {

using trace::ChecksumOf;
using trace::Role;
using trace::SpoolBuilder;

inline constexpr uint64_t kMiB = 1 << 20;

// A sealed recording of one process, beside its source file.
class Scene {
 public:
  explicit Scene(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  const trace::TestFolder& folder() const { return folder_; }
  std::string path() const { return folder_ / "run.tapelens"; }
  std::string program() const { return folder_ / "train.py"; }
  template <class Write>
  void record(Write write) {
    SpoolBuilder b(folder_, "1.spool");
    const std::string text = kProgram;
    std::ofstream(program()) << text;
    b.source(program(), text.size(), trace::checksum_of(text.data(), text.size()));
    write(b, *this);  // finishes or kills the process
    seal_folder(folder_);
  }
  // The stack of a program line in a function that main() called.
  uint32_t at(SpoolBuilder& b, uint32_t line, std::string_view function) const {
    return b.stack({b.frame(program(), line, function), b.frame(program(), 14, "main")});
  }

 private:
  static constexpr const char* kProgram =
      "import torch\n"
      "\n"
      "\n"
      "def train(net, x):\n"
      "    return net(x).sum()\n"
      "\n"
      "\n"
      "def validate(net, x):\n"
      "    return net(x).exp()\n"
      "\n"
      "\n"
      "def main():\n"
      "    for x in data:\n"
      "        train(net, x).backward()\n"
      "    validate(net, x)\n";

  std::string name_;
  trace::TestFolder folder_;
};

// ---- a training with an optimizer and a loader thread, killed after it
// -----------------------------------------------

inline constexpr uint64_t kWeight = 0x1000, kMean = 0x2000, kMomentum = 0x3000, kInput = 0x4000, kLeaf = 0x5000;

struct Training {
  SpoolBuilder& b;
  const Scene& scene;
  uint32_t rows = b.layout("float32", 4, {1024, 2048}, {2048, 1});
  uint32_t columns = b.layout("float32", 4, {1024, 2048}, {1, 1024});
  uint32_t of_three = b.layout("float16", 2, {4, 512, 2048}, {1048576, 2048, 1});

  void run() {
    b.information("torch_version", "2.15.0").information("steps", "0:3");
    b.op("aten::empty", {}, b.stack({b.frame(scene.program(), 13, "main")}));
    b.alloc(kWeight, 4 * kMiB).alloc(kMean, kMiB).end_op();
    b.role(Role::parameter, "up.weight", kWeight, 4 * kMiB).role(Role::buffer, "norm.mean", kMean, kMiB);
    b.accumulate_grad(kLeaf, kWeight);
    for (const uint64_t step : {0, 1, 2}) {
      const uint64_t base = 0x10000 * (step + 1);
      b.range("step").foreign(kInput, 8 * kMiB);
      forward(base);
      backward(base);
      optimize(base, step);
      b.end_range();
      b.thread(2).range("loader").enter("Loader", "Loader").op("aten::randn").alloc(base + 60, kMiB).end_op().leave();
      b.end_range().free(base + 60).thread(1);
    }
    validate(0x80000);
    b.op("aten::empty").end_op();  // the program continues after the failed request
    b.loss(trace::Loss::disk_full, 3).loss(trace::Loss::truncated_text, 2);
    b.kill();
  }

  void forward(uint64_t base) {
    b.enter("Net", "Net").enter("Net.up", "Linear");
    b.op("aten::linear", {kInput}, scene.at(b, 5, "train")).op("aten::addmm", {kInput, kWeight});
    b.alloc(base, 8 * kMiB).node("AddmmBackward0", base + 3, {{kLeaf, 0}});
    b.save(base + 3, "mat2", kInput, 8 * kMiB, rows).end_op().end_op().leave();
    // Saves two copies of one activation and one copy of the transposed input, then writes the activation.
    for (const uint64_t i : {0, 1, 2}) {
      b.op("aten::clone", {i < 2 ? base : kInput}, scene.at(b, 5, "train")).views({{i < 2 ? rows : columns, 0, 0}});
      b.op("aten::empty_strided").alloc(base + 10 + i, 8 * kMiB).end_op().end_op();
      b.op("aten::mul", {base + 10 + i, kMean}).alloc(base + 20 + i, kMiB);
      b.node("MulBackward0", base + 30 + i, {{base + 3, 0}, {0, 0}});
      b.save(base + 30 + i, "other", base + 10 + i, 8 * kMiB, i < 2 ? rows : columns).end_op();
    }
    b.op("aten::relu_", {base}, 0, SpoolBuilder::kNone, 0, 1).end_op();
    b.enter("Net.norm", "Sequential").enter("Net.norm.0", "BatchNorm2d");
    b.op("aten::native_batch_norm", {base, kMean}).alloc(base + 4, 8 * kMiB);
    b.node("NativeBatchNormBackward0", base + 5, {{base + 3, 0}, {0, 0}, {0, 0}}, 1, 0, "training=False");
    b.save(base + 5, "input", base, 8 * kMiB, of_three).end_op().leave().leave();
    b.op("aten::silu", {base + 4}).alloc(base + 6, 8 * kMiB).node("SiluBackward0", base + 7, {{base + 5, 0}});
    b.save(base + 7, "self", base + 4, 8 * kMiB, rows).end_op();
    drop(base);
    b.op("aten::mm", {base + 61, base + 62}).alloc(base + 8, 8 * kMiB).node("MmBackward0", base + 9, {{base + 64, 0}});
    b.save(base + 9, "self", base + 61, 8 * kMiB, rows).end_op();
    // Tensors without a save.
    b.op("aten::gt").alloc(base + 70, 2 * kMiB).alloc(base + 71, 2 * kMiB).end_op();
    b.held(trace::HeldBy::context, "mask", base + 70, 2 * kMiB, base + 9);
    b.held(trace::HeldBy::checkpointing, "aten.mm", base + 71, 2 * kMiB).leave();
  }

  // A dropout that uses its noise again. The noise is alive as long as the result made from it.
  void drop(uint64_t base) {
    b.op("aten::dropout", {base + 6}).op("aten::bernoulli_").alloc(base + 62, 8 * kMiB).end_op();
    b.op("aten::mul", {base + 6, base + 62}).alloc(base + 61, 8 * kMiB);
    b.node("MulBackward0", base + 64, {{base + 7, 0}, {0, 0}});
    b.save(base + 64, "other", base + 62, 8 * kMiB, rows).end_op().end_op();
  }

  void backward(uint64_t base) {
    b.backward();
    evaluate(base + 9, "aten::mm", base + 8, base + 40).free(base + 61).free(base + 8).end_evaluation();
    evaluate(base + 64, "aten::mul", base + 40, base + 44).free(base + 62).end_evaluation();
    evaluate(base + 7, "aten::silu_backward", base + 44, base + 41).free(base + 6).free(base + 4).end_evaluation();
    evaluate(base + 5, "aten::native_batch_norm_backward", base + 41, base + 43).end_evaluation().free(base);
    for (const uint64_t i : {0, 1, 2}) {
      b.evaluate(base + 30 + i).op("aten::mul", {base + 10 + i}).end_op().free(base + 10 + i).end_evaluation();
      b.free(base + 20 + i);
    }
    evaluate(base + 3, "aten::mm", base + 43, base + 42).end_evaluation();
    b.evaluate(kLeaf, false).op("aten::detach", {base + 42}).end_op();
    b.role(Role::gradient, "up.weight", base + 42, 4 * kMiB, kWeight).end_evaluation().end_backward();
    for (const uint64_t i : {40, 41, 43, 44, 70, 71}) b.free(base + i);
    for (const uint64_t i : {3, 5, 7, 9, 30, 31, 32, 64}) b.node_dies(base + i);
  }
  SpoolBuilder& evaluate(uint64_t node, std::string_view op, uint64_t reads, uint64_t makes) {
    return b.evaluate(node).op(op, {reads}).alloc(makes, 4 * kMiB).end_op();
  }

  void optimize(uint64_t base, uint64_t step) {
    b.checksum(ChecksumOf::loss, "", step, 0x3ff0000000000000 + step, 3);
    b.checksum(ChecksumOf::gradient, "up.weight", step, 0xabc + step, 4);
    b.optimizer("SGD#1").op("aten::mul", {base + 42}, scene.at(b, 14, "main")).alloc(base + 50, kMiB).end_op();
    if (step == 0) b.op("aten::zeros_like", {kWeight}).alloc(kMomentum, 4 * kMiB).end_op();
    if (step == 0) b.role(Role::optimizer_state, "momentum", kMomentum, 4 * kMiB, kWeight);
    b.op("aten::add_", {kWeight, base + 42}, 0, SpoolBuilder::kNone, 0, 1).end_op().free(base + 50).end_optimizer();
    b.checksum(ChecksumOf::parameter, "up.weight", step, 0xdef + step, 5).free(base + 42);
  }

  // No gradient is needed here.
  void validate(uint64_t base) {
    b.enter("Net", "Net").op("aten::exp", {kInput}, scene.at(b, 9, "validate")).alloc(base, 8 * kMiB);
    b.node("ExpBackward0", base + 1).save(base + 1, "result", base, 8 * kMiB, rows).end_op();
    b.enter("Net.head", "Head").enter("Net.head.0", "Scale");
    b.op("aten::mul", {base}, scene.at(b, 9, "validate")).alloc(base + 2, 8 * kMiB);
    b.node("MulBackward0", base + 3, {{base + 1, 0}}).save(base + 3, "self", base, 8 * kMiB, rows).end_op();
    b.leave().leave().leave();
    b.op("aten::sum", {base + 2}).alloc(base + 4, kMiB).end_op();
    b.op("aten::sum", {base + 4}).alloc(base + 5, kMiB).end_op();
    b.free(base).node_dies(base + 3).node_dies(base + 1).free(base + 2).free(base + 4).free(base + 5);
  }
};

// ---- a rewritten run ------------------------------------------------------------------------------------------------

inline void write_rewritten(SpoolBuilder& b, const Scene& scene) {
  b.information("torch_version", "2.15.0").accumulate_grad(kLeaf, 0);
  const uint32_t layout = b.layout("float32", 4, {1024, 2048}, {2048, 1});
  for (const uint64_t base : {0x100, 0x200}) {
    b.enter("Net", "Net").op("aten::stack", {}, scene.at(b, 5, "train"));
    for (const uint64_t i : {1, 2}) b.alloc(base + i, i * kMiB);
    b.node("StackBackward0", base, {{kLeaf, 0}});
    for (const uint32_t i : {1, 2}) b.save(base, "tensors", base + i, i * kMiB, layout, 0, i - 1);
    b.end_op().leave();
    b.enter("Net.head", "Linear").op("aten::linear", {}, scene.at(b, 9, "validate"));
    b.rewrite("unneeded-save", 0, base, "tensors", kMiB).free(base + 1);
    b.rewrite("wide-save", 1, base, "tensors", 2 * kMiB, 100, "it is read");
    b.rewrite("expanded-save", 4, 0, "", 4 * kMiB, 50).end_op();
    b.rewrite("scan-save", 4, 0, "", 8 * kMiB, 70, "", scene.at(b, 5, "train")).leave();
    b.op("aten::sum").alloc(base + 3, 3 * kMiB).end_op();
    b.op("aten::item", {}, scene.at(b, 9, "validate")).value_read("aten::item").end_op();
    b.value_read("aten::to", scene.at(b, 14, "main"));
    b.backward()
        .evaluate(base)
        .value_read("aten::nonzero")
        .free(base + 2)
        .end_evaluation()
        .end_backward()
        .free(base + 3);
  }
  b.finish();
}

// ---- a program that updates its weights itself ----------------------------------------------------------------------

inline void write_without_optimizer(SpoolBuilder& b, const Scene& scene) {
  b.information("torch_version", "2.15.0");
  const uint32_t layout = b.layout("float32", 4, {1024, 2048}, {2048, 1});
  b.op("aten::randn", {}, scene.at(b, 13, "main")).alloc(0x500, 2 * kMiB).end_op();
  b.variable("data[0] in train.py:13", 0x500, 2 * kMiB);
  for (const uint64_t base : {0x1000, 0x2000, 0x3000}) {
    // Two backwards of the same graph.
    b.accumulate_grad(base + 1, 0).op("aten::exp", {}, scene.at(b, 5, "train")).alloc(base, 8 * kMiB);
    b.node("ExpBackward0", base + 2, {{base + 1, 0}}).save(base + 2, "result", base, 8 * kMiB, layout).end_op();
    b.backward(trace::kBackwardKeepsGraph).evaluate(base + 2, false).end_evaluation().end_backward();
    b.backward().evaluate(base + 2).free(base).end_evaluation().end_backward();
    b.node_dies(base + 2).node_dies(base + 1);
  }
  b.variable("rest in train.py:14", 0x500, 2 * kMiB);
  b.finish();
}

// ---- a network in evaluation ----------------------------------------------------------------------------------------

inline void write_evaluation(SpoolBuilder& b, const Scene& scene) {
  b.information("torch_version", "2.15.0");
  b.enter("Net", "Net", trace::kModuleCallWithoutGradients).op("aten::exp", {}, scene.at(b, 9, "validate"));
  b.alloc(0x1000, 8 * kMiB).end_op().leave().op("aten::sum").end_op().free(0x1000);
  b.finish();
}

// ---- a GPU with too little memory -----------------------------------------------------------------------------------

inline void write_device(SpoolBuilder& b, const Scene& scene) {
  using trace::SegmentChange;
  const std::string_view gpu = "cuda:0";
  b.information("torch_version", "2.15.0");
  b.segment(SegmentChange::allocated, 0x1000000, 20 * kMiB, gpu, 7, {1, 2});
  b.segment(SegmentChange::mapped, 0x8000000, 4 * kMiB, gpu, 9)
      .segment(SegmentChange::mapped, 0x8400000, 2 * kMiB, gpu, 9);
  b.enter("Net", "Net").op("aten::linear", {}, scene.at(b, 5, "train"));
  b.block(0x1000000, 9 * kMiB, 10 * kMiB, gpu, 7, {1, 2}).end_op();
  b.op("aten::relu", {}, scene.at(b, 9, "validate")).block(0x8000000, 3 * kMiB, 4 * kMiB, gpu, 9, {3, 4}).end_op();
  b.op("aten::exp").block(0x1000000 + 12 * kMiB, 2 * kMiB, 3 * kMiB, gpu, 7).end_op();
  b.request_free(0x8000000).op("aten::neg").block(0x8400000, kMiB, 2 * kMiB, gpu, 9).end_op();
  b.enter("Net.head", "Linear").op("aten::mm", {}, scene.at(b, 5, "train"));
  b.out_of_memory(64 * kMiB, 13 * kMiB, 26 * kMiB, 5 * kMiB, gpu).end_op();
  b.out_of_memory(32 * kMiB, 13 * kMiB, 26 * kMiB, UINT64_MAX, gpu, scene.at(b, 9, "validate")).leave().leave();
  b.alloc(0x10, kMiB).out_of_memory(1, 2, 3, 4, "cpu", scene.at(b, 14, "main"));
  using trace::OutsideChange;
  using trace::VirtualChange;
  const std::string_view cutlass = "/usr/lib/libcutlass.so";
  b.op("aten::addmm", {}, scene.at(b, 9, "validate")).outside_call(41).outside_call(42).end_op();
  b.op("aten::mm", {}, scene.at(b, 5, "train")).outside_call(43).end_op();
  b.physical({VirtualChange::created, 0x77, 0, 2 * kMiB, 1, 42, cutlass, gpu})
      .physical({VirtualChange::created, 0x78, 0, 6 * kMiB, 0, 0, "", gpu})
      .physical({.change = VirtualChange::mapped, .handle = 0x77, .address = 0x50000000})
      .physical({.change = VirtualChange::mapped, .handle = 0x78, .address = 0x60000000})
      .physical({.change = VirtualChange::retained, .handle = 0x78})
      .physical({.change = VirtualChange::released, .handle = 0x77})
      .physical({.change = VirtualChange::released, .handle = 0x78})
      .physical({.change = VirtualChange::unmapped, .address = 0x50000000, .bytes = 2 * kMiB, .age_ns = 1});
  // A late event: it happened before the events above.
  b.physical({VirtualChange::created, 0x79, 0, kMiB, 1000, 43, cutlass, gpu});
  b.pool(0x9000, 64 * kMiB, 60 * kMiB).pool(0x9000, 32 * kMiB, 5 * kMiB, 1000).pool(0xa000, 32 * kMiB, kMiB);
  b.pool(0xa000, 0, 0, 0, trace::PoolChange::destroyed);
  b.outside(OutsideChange::allocated, 0x20000000, 6 * kMiB, "/usr/lib/libnccl.so.2", gpu, 2,
            trace::OutsideMemory::device, 41)
      .outside(OutsideChange::allocated, 0x30000000, 2 * kMiB, "", gpu)
      .outside(OutsideChange::allocated, 0x40000000, kMiB, "/usr/lib/libtorch_cuda.so", gpu, 0,
               trace::OutsideMemory::host)
      .device_usage(40 * kMiB, 80 * kMiB, gpu)
      .outside(OutsideChange::freed, 0x20000000, 6 * kMiB, "", gpu)
      .outside(OutsideChange::ended, 0, 0, "", gpu);
  b.free(0x8000000, gpu)
      .free(0x8400000, gpu)
      .segment(SegmentChange::unmapped, 0x8400000, 2 * kMiB, gpu, 9)
      .request_free(0x1000000)
      .free(0x1000000, gpu);
  b.finish();
}

// The smallest scene first. A column that one scene covers is not tested again in the others.
inline std::vector<std::unique_ptr<const Scene>> scenes() {
  std::vector<std::unique_ptr<const Scene>> all;
  const auto add = [&](std::string name, auto write) {
    auto scene = std::make_unique<Scene>(std::move(name));
    scene->record(write);
    all.push_back(std::move(scene));
  };
  add("evaluation", write_evaluation);
  add("without optimizer", write_without_optimizer);
  add("device", write_device);
  add("rewritten", write_rewritten);
  add("training", [](SpoolBuilder& b, const Scene& scene) { Training{b, scene}.run(); });
  return all;
}

}  // namespace tapelens::testing
