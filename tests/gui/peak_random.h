// Synthetic moments for the tests of the peak page's models.
#pragma once

#include <memory>
#include <random>

#include "analyzer/model/steps.h"
#include "analyzer/peak/holders.h"
#include "analyzer/report/detail.h"
#include "testing/model_builder.h"

namespace tapelens::gui::testing {

using namespace model;

struct RandomMoment {
  tapelens::testing::ProcessBuilder builder;
  std::vector<Step> steps;
  peak::PeakSet set;
  std::shared_ptr<const report::Peak> peak;

  void describe(peak::By by) {
    report::Options options;
    options.by = by;
    steps = find_steps(builder.process);
    const Process& process = builder.process;
    const peak::Timeline timeline(process, tapelens::testing::kCpu);
    set = peak::peak_set(process, builder.text, tapelens::testing::kCpu, timeline.at(process.duration));
    const peak::Analysis analysis(process, builder.text);
    peak = std::make_shared<const report::Peak>(report::describe_peak(analysis, set, options));
  }
};

// Allocations with holders of every kind, in nested modules. Some of their source files have the same name.
inline void fill(RandomMoment& out, uint32_t seed, int count) {
  auto& b = out.builder;
  std::mt19937 random(seed);
  const auto upto = [&](size_t most) { return random() % most; };
  const FrameId library = b.frame("/usr/lib/python3/site-packages/torch/nn/modules/conv.py", 450, "forward");
  std::vector<StackId> stacks{{}};
  for (const char* file : {"/home/a/train.py", "/home/b/train.py", "/home/a/net/model.py", "/srv/b/net/model.py"})
    for (const uint32_t line : {7U, 42U}) stacks.push_back(b.stack({library, b.frame(file, line, "forward")}));
  stacks.push_back(b.stack({library}));
  std::vector<ModuleCallId> calls{{}};
  for (const char* path : {"Net", "Net.layer1", "Net.layer1.conv", "Net.layer2", "Net.layer2.conv", "Net.fc"})
    calls.push_back(b.call(1, count * 10, b.module(path, "Module")));
  std::vector<NodeId> nodes;
  for (const char* type : {"ConvolutionBackward0", "ReluBackward0", "AddmmBackward0"}) nodes.push_back(b.node(1, type));
  std::vector<OperatorId> operators{{}};
  for (const char* name : {"aten::convolution", "aten::relu", "aten::addmm"}) operators.push_back(b.op(1, 2, name));
  const LayoutId layout = b.layout("float32", 4, {8, 64});
  const char* fields[] = {"input", "weight", "result"};
  int64_t now = 10;
  for (int i = 0; i < count; ++i) {
    const AllocationId id = b.allocate(now, static_cast<int64_t>(1 + upto(100'000)), operators[upto(4)]);
    auto& allocations = b.process.allocations;
    allocations.stack.raw.back() = stacks[upto(stacks.size())].value;
    allocations.module_call.raw.back() = calls[upto(calls.size())].value;
    switch (upto(5)) {
      case 0:
        b.role(now, id, Role::parameter, std::string("p").append(std::to_string(i)));
        [[fallthrough]];
      case 1:
        b.save(now, upto(8) == 0 ? NodeId{} : nodes[upto(3)], fields[upto(3)], id, layout);
        break;
      case 2:
        b.role(now, id, Role::optimizer_state, "exp_avg", AllocationId{1});
        break;
      default:
        break;
    }
    if (i % 97 == 96) b.optimizer_step(now + 1, now + 2);
    now += 5;
  }
  b.process.duration = Time{now};
  b.done();
  out.describe(peak::By::field);
}

}  // namespace tapelens::gui::testing
