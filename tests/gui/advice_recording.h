// A training program of two steps. Rewrites can fix some of its saves; one problem needs a change by hand.
#pragma once

#include <QString>

#include "testing/trace_builder.h"

namespace tapelens::gui::testing {

inline constexpr uint64_t kMiB = 1 << 20;

// In each step, a mask could replace three activations, each at a different line. The gradients wait for the optimizer.
class AdviceRecording {
 public:
  explicit AdviceRecording(const std::string& command = "python train.py --name 'two words'") {
    {
      trace::SpoolBuilder b(folder_, "1.spool");
      b.information("torch_version", "2.15.0");
      for (uint64_t i = 0; i < kLayers; ++i) {
        b.alloc(weight(i), 4 * kMiB);
        b.role(trace::Role::parameter, "layers." + std::to_string(i) + ".weight", weight(i), 4 * kMiB);
      }
      for (uint64_t step = 0; step < 2; ++step) write_step(b.at((step + 1) * 1'000'000));
      b.finish();
    }
    trace::seal_folder(folder_, command);
  }
  QString path() const { return QString::fromStdString(folder_ / "run.tapelens"); }

 private:
  static constexpr uint64_t kLayers = 3;
  static uint64_t weight(uint64_t i) { return 0x100 + i; }
  static uint64_t activation(uint64_t i) { return 0x1000 + i; }
  static uint64_t gradient(uint64_t i) { return 0x2000 + i; }

  void write_step(trace::SpoolBuilder& b) {
    const uint32_t layout = b.layout("float32", 4, {1024, 2048}, {2048, 1});
    b.enter("Net", "Net");
    for (uint64_t i = 0; i < kLayers; ++i) {
      const uint32_t stack = b.stack({b.frame(folder_ / "train.py", 10 + static_cast<uint32_t>(i), "Net.forward")});
      b.enter("Net.act" + std::string(1, static_cast<char>('a' + i)), "ReLU");
      b.op("aten::relu", {}, stack).alloc(activation(i), 8 * kMiB);
      b.node("ReluBackward0", 0x10 + i).save(0x10 + i, "result", activation(i), 8 * kMiB, layout).end_op();
      b.leave();
    }
    b.leave();
    b.backward();
    for (uint64_t i = kLayers; i-- > 0;) {
      b.evaluate(0x10 + i).op("aten::threshold_backward", {activation(i)}).alloc(0x3000, kMiB).end_op();
      b.free(activation(i)).alloc(gradient(i), 4 * kMiB);
      b.role(trace::Role::gradient, "layers." + std::to_string(i) + ".weight", gradient(i), 4 * kMiB, weight(i));
      b.end_evaluation().free(0x3000);
    }
    b.end_backward().optimizer("SGD");
    for (uint64_t i = 0; i < kLayers; ++i) b.op("aten::add_", {weight(i), gradient(i)}).end_op().free(gradient(i));
    b.end_optimizer();
  }

  trace::TestFolder folder_;
};

}  // namespace tapelens::gui::testing
