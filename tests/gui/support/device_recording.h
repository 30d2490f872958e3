// A training on two GPUs, as events of their allocators: blocks in segments of two streams, blocks that wait for a
// stream, and a failed request at the end. It notes the place of each allocation, for comparison in tests.
#pragma once

#include <QString>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "testing/trace_builder.h"

namespace tapelens::gui::testing {

class DeviceRecording {
 public:
  static constexpr uint64_t kMega = 1 << 20;
  static constexpr uint64_t kSideStream = 0x7f20;

  // Adds one entry to the recording's facts, for example "simulated_gpu", "1 x NVIDIA H100 80GB HBM3".
  explicit DeviceRecording(const std::string& key = {}, const std::string& value = {}) {
    {
      trace::SpoolBuilder b(folder_, "1.spool");
      b_ = &b;
      b.information("torch_version", "2.15.0");
      if (!key.empty()) b.information(key, value);
      run();
      b.finish();
    }
    trace::seal_folder(folder_);
  }
  QString path() const { return QString::fromStdString(folder_ / "run.tapelens"); }
  std::string program() const { return folder_ / "train.py"; }
  uint64_t oom_time() const { return oom_time_; }

  // Totals of cuda:0 at the end.
  uint64_t allocated() const { return allocated_; }
  uint64_t reserved() const { return reserved_; }
  uint64_t segments() const { return segments_.size(); }

 private:
  static constexpr uint64_t kLayers = 6;
  struct Segment {
    uint64_t bytes, stream;
    std::map<uint64_t, uint64_t> blocks;  // rounded bytes by address
  };

  void pass(uint64_t ns = 40'000) { b_->at(b_->now() + ns); }
  uint32_t line(uint32_t number, std::string_view function) {
    return b_->stack({b_->frame(program(), number, function), b_->frame(program(), 40, "main")});
  }

  // First fit. If no gap fits, reserves a segment: 2 MiB for small blocks, at least 20 MiB for others.
  uint64_t take(uint64_t bytes, uint64_t stream = 0) {
    const uint64_t rounded = (bytes + 511) / 512 * 512;
    const bool is_small = rounded <= kMega;
    for (auto& [address, segment] : segments_) {
      if (segment.stream != stream || (segment.bytes == 2 * kMega) != is_small) continue;
      uint64_t at = address;
      for (const auto& [block, size] : segment.blocks) {
        if (block - at >= rounded) break;
        at = block + size;
      }
      if (at + rounded > address + segment.bytes) continue;
      return put(segment, at, bytes, rounded, stream);
    }
    const uint64_t size = is_small               ? 2 * kMega
                          : rounded < 10 * kMega ? 20 * kMega
                                                 : (rounded + 2 * kMega - 1) / (2 * kMega) * 2 * kMega;
    const uint64_t address = next_;
    next_ += (size + 31 * kMega) / (32 * kMega) * 32 * kMega;
    b_->segment(trace::SegmentChange::allocated, address, size, "cuda:0", stream);
    reserved_ += size;
    Segment& segment = segments_[address] = {size, stream, {}};
    return put(segment, address, bytes, rounded, stream);
  }
  uint64_t put(Segment& segment, uint64_t at, uint64_t bytes, uint64_t rounded, uint64_t stream) {
    segment.blocks[at] = rounded;
    allocated_ += rounded;
    b_->block(at, bytes, rounded, "cuda:0", stream);
    pass();
    return at;
  }
  void give_back(uint64_t address) { b_->request_free(address), pass(); }
  void free(uint64_t address) {
    Segment& segment = std::prev(segments_.upper_bound(address))->second;
    allocated_ -= segment.blocks.at(address);
    segment.blocks.erase(address);
    b_->free(address, "cuda:0");
    pass();
  }

  void run() {
    trace::SpoolBuilder& b = *b_;
    std::vector<uint64_t> weights;
    b.op("aten::empty", {}, line(5, "Net.__init__")).alloc(0x10, 3 * kMega).end_op();
    for (uint64_t i = 0; i < kLayers; ++i) {
      b.op("aten::empty", {}, line(6, "Net.__init__"));
      weights.push_back(take((i + 1) * kMega));
      b.role(trace::Role::parameter, "layers." + std::to_string(i) + ".weight", weights.back(), (i + 1) * kMega);
      const uint64_t bias = take(4096 * (i + 1));
      b.role(trace::Role::parameter, "layers." + std::to_string(i) + ".bias", bias, 4096 * (i + 1)).end_op();
    }
    // A second device with few events.
    b.segment(trace::SegmentChange::allocated, 0x900000000, 64 * kMega, "cuda:1");
    b.block(0x900000000, 30 * kMega, 32 * kMega, "cuda:1");
    for (uint64_t step = 0; step < 3; ++step) train(step, weights);
    const uint64_t wanted = 512 * kMega;
    b.enter("Net", "Net").enter("Net.head", "Linear").op("aten::mm", {}, line(12, "Net.forward"));
    b.out_of_memory(wanted, allocated_, reserved_, 5 * kMega, "cuda:0");
    oom_time_ = b.now();
    b.end_op();
    b.leave().leave();
    pass();
  }

  void train(uint64_t step, const std::vector<uint64_t>& weights) {
    trace::SpoolBuilder& b = *b_;
    const uint32_t layout = b.layout("float32", 4, {1024, 1024}, {1024, 1});
    b.op("aten::_to_copy", {}, line(20, "batches"));
    const uint64_t batch = take(14 * kMega, kSideStream);
    b.end_op().block(0x900000000 + (32 + 4 * step) * kMega, 3 * kMega, 4 * kMega, "cuda:1");
    std::vector<uint64_t> kept;
    b.enter("Net", "Net");
    for (uint64_t i = 0; i < kLayers; ++i) {
      b.enter("Net.layers." + std::to_string(i), "Linear");
      b.op("aten::addmm", {weights[i]}, line(10, "Net.forward"));
      const uint64_t workspace = take(3 * kMega + i * kMega / 2);
      kept.push_back(take((5 + 2 * i) * kMega + 100));
      const uint64_t small = take(100'000 + 1000 * i);
      const uint64_t node = 0x100 + i;
      b.node("AddmmBackward0", node).save(node, "mat1", kept.back(), (5 + 2 * i) * kMega + 100, layout);
      free(workspace);
      b.end_op().leave();
      free(small);
    }
    b.leave();
    // The program frees its copy of the batch while the side stream still uses it.
    give_back(batch);
    b.backward();
    for (uint64_t i = kLayers; i-- > 0;) {
      b.evaluate(0x100 + i).op("aten::mm", {kept[i]});
      const uint64_t gradient = take((i + 1) * kMega);
      b.role(trace::Role::gradient, "layers." + std::to_string(i) + ".weight", gradient, (i + 1) * kMega, weights[i]);
      b.end_op().end_evaluation();
      // The last step stops in the middle of its backward.
      if (step < 2 || i > kLayers / 2) free(kept[i]);
      gradients_.push_back(gradient);
    }
    b.end_backward();
    if (step == 2) return;
    free(batch);
    b.optimizer("SGD");
    for (const uint64_t gradient : gradients_) b.op("aten::add_", {gradient}).end_op();
    b.end_optimizer();
    for (const uint64_t gradient : gradients_) free(gradient);
    gradients_.clear();
  }

  trace::TestFolder folder_;
  trace::SpoolBuilder* b_ = nullptr;
  std::map<uint64_t, Segment> segments_;
  std::vector<uint64_t> gradients_;
  uint64_t next_ = 0x7f1200000000, allocated_ = 0, reserved_ = 0, oom_time_ = 0;
};

}  // namespace tapelens::gui::testing
