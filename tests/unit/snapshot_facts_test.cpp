// Operators, phases, nodes and roles of allocations, from the stacks of a snapshot, with their evidence.
#include <gtest/gtest.h>

#include <set>

#include "analyzer/model/attribution.h"
#include "analyzer/model/load.h"
#include "analyzer/snapshot/import.h"
#include "analyzer/snapshot/stack_facts.h"
#include "testing/trace_builder.h"
#include "tests/unit/support/pickles.h"

namespace tapelens::snapshot {
namespace {

using namespace testing;
using Frames = std::vector<std::pair<std::string, std::string>>;  // file and function, the innermost first

TEST(Operators, HaveTheNameOfTheirFunctionWithoutTheOverload) {
  EXPECT_EQ(operator_of("at::_ops::add_Tensor::call(at::Tensor const&, at::Tensor const&)"), "aten::add");
  EXPECT_EQ(operator_of("at::_ops::add__Tensor::call(at::Tensor&)"), "aten::add_");
  EXPECT_EQ(operator_of("at::_ops::empty_memory_format::call"), "aten::empty");
  EXPECT_EQ(operator_of("at::_ops::sum_dim_IntList::call(at::Tensor const&)"), "aten::sum");
  EXPECT_EQ(operator_of("at::_ops::max_pool2d_with_indices::call(at::Tensor const&)"), "aten::max_pool2d_with_indices");
  EXPECT_EQ(operator_of("at::_ops::_softmax_backward_data::call(at::Tensor const&)"), "aten::_softmax_backward_data");
  EXPECT_EQ(operator_of("at::_ops::cumsum_dimname_out::call(at::Tensor const&)"), "aten::cumsum");
  EXPECT_EQ(operator_of("at::_ops::add_Tensor::redispatch(c10::DispatchKeySet)"), "");
  EXPECT_EQ(operator_of("at::native::add(at::Tensor const&)"), "");
}

TEST(Operators, NodesHaveTheNamesThatPyTorchGivesThem) {
  EXPECT_EQ(node_of("torch::autograd::generated::MulBackward0::apply(std::vector<at::Tensor>&&)"), "MulBackward0");
  EXPECT_EQ(node_of("torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)"),
            "torch::autograd::AccumulateGrad");
  EXPECT_EQ(node_of("torch::autograd::PyNode::apply(std::vector<at::Tensor>&&)"), "");
  EXPECT_EQ(node_of("torch::autograd::apply_something(int)"), "");
}

const Frames kCallMul = {{"??", "at::native::empty_cuda(c10::ArrayRef<long>)"},
                         {"??", "at::_ops::empty_memory_format::call(c10::ArrayRef<long>)"},
                         {"??", "at::_ops::mul_Tensor::call(at::Tensor const&, at::Tensor const&)"}};
const Frames kModule = {{"/lib/python3.12/site-packages/torch/nn/modules/module.py", "_call_impl"},
                        {"/home/me/train.py", "main"}};
const Frames kEngine = {{"??", "torch::autograd::Engine::evaluate_function(std::shared_ptr<int>&)"},
                        {"??", "torch::autograd::Engine::thread_main(std::shared_ptr<int> const&)"}};
const Frames kMulBackward = {{"??", "torch::autograd::generated::MulBackward0::apply(std::vector<at::Tensor>&&)"}};
const Frames kAccumulate = {{"??", "torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)"}};
const Frames kAdam = {{"/lib/python3.12/site-packages/torch/optim/adam.py", "step"},
                      {"/lib/python3.12/site-packages/torch/optim/optimizer.py", "wrapper"},
                      {"/home/me/train.py", "main"}};
const Frames kHook = {{"/home/me/train.py", "hook"}};
const Frames kZeroGrad = {{"/lib/python3.12/site-packages/torch/optim/optimizer.py", "zero_grad"},
                          {"/home/me/train.py", "main"}};
const Frames kWorkspace = {{"??", "at::cuda::allocateCUDABlasWorkspace(unsigned long)"}};
const Frames kMain = {{"/home/me/train.py", "main"}};

Frames operator+(Frames a, const Frames& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::string frames(const Frames& all) {
  std::vector<std::string> out;
  for (const auto& [file, function] : all)
    out.push_back(dict({{"filename", text(file)}, {"line", number(7)}, {"name", text(function)}}));
  return out.empty() ? "]" : list(out);
}

// Builds a history. facts() returns a line for each allocation, "operator called node phase role", with '-' for an
// unknown value.
class History {
 public:
  History& alloc(int64_t number, const Frames& stack) {
    alive_.insert(number);
    return entry("alloc", number, stack);
  }
  History& free(int64_t number, const Frames& stack = {}) {
    alive_.erase(number);
    return entry("free_requested", number, stack).entry("free_completed", number, stack);
  }
  std::string facts() const {
    const trace::TestFolder folder;
    write_file(folder / "s.pickle",
               pickled(dict({{"segments", list({segment()})}, {"device_traces", list({list(trace_)})}})));
    ImportOptions options;
    options.input = folder / "s.pickle";
    options.output = folder / "s.tapelens";
    const auto summary = import_snapshot(options);
    if (!summary) return summary.error().message;
    const auto recording = trace::Recording::open(options.output);
    if (!recording) return recording.error().message;
    const model::Text text = model::load_text(*recording);
    const model::Process p = model::load_process(*recording, text, {});
    EXPECT_TRUE(p.left_out.empty());
    static constexpr const char* kPhases[] = {"-", "forward", "backward", "optimizer"};
    static constexpr const char* kRoles[] = {"-", "parameter", "gradient", "state", "saved"};
    std::string out;
    for (const model::AllocationId id : p.allocations.ids()) {
      const auto row = p.imported_facts.of(id);
      const auto said = [&](model::StringId id) { return id ? std::string(text.string(id)) : "-"; };
      if (!row) {
        out += "-\n";
        continue;
      }
      const model::ImportedFacts& f = p.imported_facts;
      EXPECT_EQ(f.role[row] == model::ImportedRole::unknown, !f.evidence[row]) << "each role has its evidence";
      out += said(f.op[row]) + " " + said(f.called[row]) + " " + said(f.node[row]) + " " +
             kPhases[static_cast<int>(f.phase[row])] + " " + kRoles[static_cast<int>(f.role[row])] + "\n";
    }
    return out;
  }

 private:
  static constexpr int64_t kBase = 0x7f0000000000;
  std::string segment() const {
    std::vector<std::string> blocks;
    for (const int64_t which : alive_)
      blocks.push_back(dict({{"address", number(kBase + 512 * which)},
                             {"size", number(512)},
                             {"requested_size", number(512)},
                             {"state", text("active_allocated")}}));
    return dict({{"device", number(0)},
                 {"address", number(kBase)},
                 {"total_size", number(2 << 20)},
                 {"stream", number(0)},
                 {"blocks", list(blocks)}});
  }
  History& entry(const std::string& action, int64_t which, const Frames& stack) {
    trace_.push_back(dict({{"action", text(action)},
                           {"addr", number(kBase + 512 * which)},
                           {"size", number(512)},
                           {"stream", number(0)},
                           {"time_us", number(1000 + static_cast<int64_t>(trace_.size()))},
                           {"frames", frames(stack)}}));
    return *this;
  }
  std::vector<std::string> trace_;
  std::set<int64_t> alive_;
};

TEST(ImportedFacts, OperatorPhaseAndNodeAreThoseOfTheFrames) {
  EXPECT_EQ(History()
                .alloc(0, kCallMul + kModule)
                .alloc(1, kCallMul + kMulBackward + kEngine)
                .alloc(2, kCallMul + kAdam)
                .alloc(3, kCallMul + kMain)
                .alloc(4, {})
                .facts(),
            "aten::empty aten::mul - forward -\n"
            "aten::empty aten::mul MulBackward0 backward gradient\n"
            "aten::empty aten::mul - optimizer state\n"
            "aten::empty aten::mul - - -\n"
            "-\n");
}

TEST(ImportedFacts, AClosureOfAnOptimizerIsNotItsStep) {
  EXPECT_EQ(
      History().alloc(0, kCallMul + kMain + kAdam).alloc(1, kCallMul + kMulBackward + kEngine + kMain + kAdam).facts(),
      "aten::empty aten::mul - - -\n"
      "aten::empty aten::mul MulBackward0 backward -\n");
  // torch.optim wraps the step of an optimizer of the program.
  const Frames own = {{"/home/me/mine.py", "step"},
                      {"/lib/python3.12/site-packages/torch/optim/optimizer.py", "wrapper"},
                      {"/home/me/train.py", "main"}};
  EXPECT_EQ(History().alloc(0, kCallMul + own).facts(), "aten::empty aten::mul - optimizer -\n");
  EXPECT_EQ(History().alloc(0, kCallMul + kHook + own).facts(), "aten::empty aten::mul - - -\n");
}

TEST(ImportedFacts, AGradientIsAliveInAStepOrFreedByZeroGrad) {
  EXPECT_EQ(History()
                .alloc(0, kMulBackward + kEngine)  // freed in the backward
                .free(0, kEngine)
                .alloc(1, kMulBackward + kEngine)  // alive in the step
                .alloc(2, kMulBackward + kEngine)  // freed by zero_grad
                .free(2, kZeroGrad)
                .alloc(3, kHook + kMulBackward + kEngine)  // allocated by a hook
                .alloc(4, kAccumulate + kEngine)
                .alloc(7, kWorkspace + kMulBackward + kEngine)
                .alloc(5, kAdam)
                .free(5, kAdam)
                .free(1, kZeroGrad)
                .free(4, kMain)
                .alloc(6, kMulBackward + kEngine)  // the backward has no step after it
                .facts(),
            "- - MulBackward0 backward -\n"
            "- - MulBackward0 backward gradient\n"
            "- - MulBackward0 backward gradient\n"
            "- - - backward -\n"
            "- - torch::autograd::AccumulateGrad backward gradient\n"
            "- - MulBackward0 backward -\n"
            "- - - optimizer -\n"
            "- - MulBackward0 backward -\n");
}

TEST(ImportedFacts, StateOutlivesTheStepAndTemporariesDoNot) {
  EXPECT_EQ(History().alloc(0, kAdam).alloc(1, kAdam).free(1, kAdam).alloc(2, kModule).facts(),
            "- - - optimizer state\n- - - optimizer -\n- - - forward -\n");
  const Frames init = Frames{{"/lib/python3.12/site-packages/torch/optim/adam.py", "_init_group"}} + kAdam;
  EXPECT_EQ(History().alloc(0, init).facts(), "- - - optimizer state\n");
  EXPECT_EQ(History().alloc(0, kAdam).facts(), "- - - optimizer -\n") << "the snapshot may be of the middle of a step";
}

TEST(ImportedFacts, WhatTheEngineFreesWasSaved) {
  EXPECT_EQ(History()
                .alloc(0, kModule)
                .alloc(1, kModule)
                .alloc(2, kModule)
                .alloc(3, kMulBackward + kEngine)
                .free(0, kEngine)
                .free(1, kMain)
                .free(2, kHook + kEngine)  // freed by a hook
                .facts(),
            "- - - forward saved\n- - - forward -\n- - - forward -\n- - MulBackward0 backward -\n");
  // Frees without a stack, between two allocations of a backward.
  EXPECT_EQ(History()
                .alloc(0, kModule)
                .alloc(1, kModule)
                .alloc(2, kMulBackward + kEngine)
                .free(0)
                .alloc(3, kMulBackward + kEngine)
                .free(1)
                .alloc(4, kMain)
                .facts(),
            "- - - forward saved\n- - - forward -\n- - MulBackward0 backward -\n- - MulBackward0 backward -\n-\n");
}

TEST(ImportedFacts, ParametersAreThoseOfAModuleThatIsMadeOrMoved) {
  const Frames moved = Frames{{"/lib/python3.12/site-packages/torch/nn/modules/module.py", "convert"},
                              {"/lib/python3.12/site-packages/torch/nn/modules/module.py", "_apply"}} +
                       kMain;
  const Frames made = Frames{{"/lib/python3.12/site-packages/torch/nn/modules/linear.py", "__init__"}} + kMain;
  EXPECT_EQ(History().alloc(0, moved).alloc(1, made).alloc(2, moved).free(2, moved).alloc(3, kModule).facts(),
            "- - - - parameter\n- - - - parameter\n-\n- - - forward -\n");
  EXPECT_EQ(History().alloc(0, moved).facts(), "-\n") << "no module was called";
}

}  // namespace
}  // namespace tapelens::snapshot
