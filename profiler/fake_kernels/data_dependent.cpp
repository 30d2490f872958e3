// A result of the wrong size cannot be corrected at the end of its operator, nor can a number that was returned. So
// these few operators get kernels in front of CUDA's. They call CUDA's kernels as before, for their temporary memory.
// For small tensors they return the CPU's results, in GPU memory. All other operators with data-dependent sizes call
// one of these, or read a computed number: masked_select and a boolean index call nonzero; bincount and
// repeat_interleave read.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <algorithm>
#include <iterator>

#include "profiler/fake_kernels/call.h"
#include "profiler/fake_kernels/operators.h"
#include "profiler/observe/private_members.h"
#include "profiler/observe/thread.h"
#include "profiler/observe/torch_minor.h"

namespace tapelens::fake_kernels {

#if !TAPELENS_OPERATORS_GIVE_KERNELS
namespace members {
TAPELENS_MEMBER(Definition, &c10::OperatorHandle::operatorDef_);
}  // namespace members
#endif

namespace {

constexpr const char* kReplaced[] = {
    "nonzero", "equal", "_unique", "_unique2", "unique_dim", "unique_consecutive", "unique_dim_consecutive"};

at::Tensor on_device(const at::Tensor& computed, c10::Device device, bool is_transposed) {
  const auto options = at::TensorOptions().dtype(computed.dtype()).device(device);
  // CUDA's nonzero has one row per dimension.
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

// The kernel that PyTorch calls for CUDA.
auto cuda_kernel(const c10::OperatorHandle& op) {
#if TAPELENS_OPERATORS_GIVE_KERNELS
  return op.getComputedKernelForDispatchKey(c10::DispatchKey::CUDA);
#else
  return c10::KernelFunction(
      (op.*member(members::Definition{}))->op.lookup(c10::DispatchKeySet(c10::DispatchKey::CUDA)));
#endif
}

// The type of a stored kernel differs between minor versions of PyTorch.
using Original = decltype(cuda_kernel(std::declval<c10::OperatorHandle>()));

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
      // If the inputs are known, the kernel's reads of its counts are not reads of unknown values.
      const ReadsKnown here(call.is_carried() && call.is_known());
      original_.callBoxed(op, keys, stack);
    }
    if (!call.is_carried()) return;
    torch::jit::Stack computed;
    try {
      const observe::ExecutingOnCpu here(observe::this_thread());
      computed = call.run();
    } catch (...) {  // the CPU has no such operator for these types: leave the call unchanged
      return;
    }
    torch::jit::drop(*stack, computed.size());  // before their memory is allocated again
    for (c10::IValue& value : computed) {
      if (!value.isTensor()) {
        stack->push_back(std::move(value));
        continue;
      }
      const at::Tensor& tensor = value.toTensor();
      const at::Tensor made = on_device(tensor, device, is_nonzero_);
      const observe::ExecutingOnCpu here(observe::this_thread());
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
  // Never destroyed: its kernels may be called until the process ends.
  static auto* library = new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::CUDA, __FILE__, __LINE__);
  // PyTorch warns about a kernel that replaces another.
  const Silence silence;
  for (const char* name : kReplaced) {
    const auto op = c10::Dispatcher::singleton().findSchema({std::string("aten::") + name, ""});
    if (!op || !op->hasKernelForDispatchKey(c10::DispatchKey::CUDA)) continue;
    auto kernel = std::make_unique<Kernel>(cuda_kernel(*op), *op);
    library->impl(name, torch::CppFunction::makeFromBoxedFunctor(std::move(kernel)));
  }
}

}  // namespace tapelens::fake_kernels
