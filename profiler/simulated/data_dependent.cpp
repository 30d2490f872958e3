// A result that has the wrong size cannot be repaired when its operator ends, and a number that was returned is gone.
// These few operators therefore get kernels that stand before those of CUDA: these are called as ever, for the memory
// that they take on the way, and where the tensors are small the results are those of the CPU, in memory of the GPU.
// All others whose sizes depend on values ask one of these, or read a number that was carried out: masked_select and an
// index of booleans ask nonzero; bincount and repeat_interleave read.
#include "profiler/simulated/data_dependent.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <algorithm>
#include <iterator>

#include "profiler/observe/thread.h"
#include "profiler/simulated/call.h"
#include "profiler/simulated/silence.h"
#include "profiler/simulated/thread_state.h"

namespace tapelens::simulated {
namespace {

constexpr const char* kReplaced[] = {
    "nonzero", "equal", "_unique", "_unique2", "unique_dim", "unique_consecutive", "unique_dim_consecutive"};

at::Tensor on_device(const at::Tensor& computed, c10::Device device, bool is_transposed) {
  const auto options = at::TensorOptions().dtype(computed.dtype()).device(device);
  // CUDA's nonzero has a row for each dimension.
  if (is_transposed) return at::empty({computed.size(1), computed.size(0)}, options).t();
  return at::empty_strided(computed.sizes(), computed.strides(), options);
}

class ReadsKnown {
 public:
  explicit ReadsKnown(bool known) : reads_known_(observe::this_thread().simulating->reads_known), was_(reads_known_) {
    reads_known_ = was_ || known;
  }
  ~ReadsKnown() { reads_known_ = was_; }
  ReadsKnown(const ReadsKnown&) = delete;
  ReadsKnown& operator=(const ReadsKnown&) = delete;

 private:
  bool& reads_known_;
  const bool was_;
};

// Each minor version of PyTorch has a type of its own for a kernel that is held.
using Original =
    std::decay_t<decltype(std::declval<c10::OperatorHandle>().getComputedKernelForDispatchKey(c10::DispatchKey::CUDA))>;

class Kernel final : public c10::OperatorKernel {
 public:
  Kernel(Original original, const c10::OperatorHandle& op)
      : original_(std::move(original)), facts_(facts_of(op, 0)), is_nonzero_(op.schema().name() == "aten::nonzero") {
    facts_.what = OperatorTraits::What::carried;
  }

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const size_t count = op.schema().arguments().size();
    const std::span<const c10::IValue> arguments(stack->data() + stack->size() - count, count);
    Call call(facts_, arguments);
    const c10::Device device = arguments[0].toTensor().device();
    {
      // What it reads of its own counts is not unknown if its inputs are known.
      const ReadsKnown here(call.is_carried() && call.is_known());
      original_.callBoxed(op, keys, stack);
    }
    if (!call.is_carried()) return;
    torch::jit::Stack computed;
    try {
      const observe::CarryingOut here(observe::this_thread());
      computed = call.run();
    } catch (...) {  // the CPU has no such operator for these types: as without it
      return;
    }
    torch::jit::drop(*stack, computed.size());  // before their memory is taken again
    for (c10::IValue& value : computed) {
      if (!value.isTensor()) {
        stack->push_back(std::move(value));
        continue;
      }
      const at::Tensor& tensor = value.toTensor();
      const at::Tensor made = on_device(tensor, device, is_nonzero_);
      const observe::CarryingOut here(observe::this_thread());
      call.give(made, tensor);
      stack->push_back(made);
    }
  }

 private:
  Original original_;
  OperatorTraits facts_;
  bool is_nonzero_;
};

}  // namespace

bool is_data_dependent(std::string_view name) {
  constexpr std::string_view kNamespace = "aten::";
  return name.starts_with(kNamespace) &&
         std::ranges::find(kReplaced, name.substr(kNamespace.size())) != std::end(kReplaced);
}

void replace_data_dependent() {
  // Never destroyed: its kernels may be called until the process is gone.
  static auto* library = new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::CUDA, __FILE__, __LINE__);
  // PyTorch warns of a kernel that takes the place of another.
  const Silence silence;
  for (const char* name : kReplaced) {
    const auto op = c10::Dispatcher::singleton().findSchema({std::string("aten::") + name, ""});
    if (!op || !op->hasKernelForDispatchKey(c10::DispatchKey::CUDA)) continue;
    auto kernel = std::make_unique<Kernel>(op->getComputedKernelForDispatchKey(c10::DispatchKey::CUDA), *op);
    library->impl(name, torch::CppFunction::makeFromBoxedFunctor(std::move(kernel)));
  }
}

}  // namespace tapelens::simulated
