#include "profiler/fake_kernels/call.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cstring>

#include "profiler/observe/mode_keys.h"

namespace tapelens::fake_kernels {
namespace {

using What = OperatorTraits::What;

// Isolates the executed operator: the program's state does not reach it, and it does not reach the program's observers.
struct Alone {
  Silence silence;
  at::RecordFunctionGuard observers{false};
  at::AutoDispatchBelowADInplaceOrView below;
  c10::impl::ExcludeDispatchKeyGuard autocast{c10::autocast_dispatch_keyset};
  c10::impl::ExcludeDispatchKeyGuard modes{observe::kModeKeys};
  at::NoGradGuard no_grad;
};

bool names_cuda(std::span<const c10::IValue> arguments) {
  return std::ranges::any_of(arguments,
                             [](const c10::IValue& value) { return value.isDevice() && value.toDevice().is_cuda(); });
}

}  // namespace

Call::Call(const OperatorTraits& facts, std::span<const c10::IValue> arguments) : facts_(facts) {
  bool is_small = true, has_tensors = false, has_unknown_integers = false;
  const bool is_plain = each_tensor(arguments, [&](const at::Tensor& tensor, size_t argument) {
    const Sort sort = sort_of(tensor);
    const bool is_written = facts.writes(argument);
    if (sort == Sort::undefined) return;
    has_tensors = true;
    is_on_device_ |= sort == Sort::device;
    is_small = is_small && sort != Sort::other && fake_kernels::is_small(tensor) && !(sort == Sort::host && is_written);
    if (!is_small || sort != Sort::device || (is_written && !facts.reads_written)) return;
    if (fake_kernels::is_known(tensor)) return;
    is_known_ = false;
    has_unknown_integers |= c10::isIntegralType(tensor.scalar_type(), false);
  });
  if (!has_tensors) is_on_device_ = names_cuda(arguments);
  if (!is_on_device_) return;
  is_carried_ = facts.what == What::carried && is_plain && is_small && !(has_unknown_integers && facts.trusts_integers);
  if (is_carried_ && facts.is_backward) {
    each_tensor(arguments, [&](const at::Tensor& tensor, size_t) {
      if (tensor.defined() && c10::isIntegralType(tensor.scalar_type(), false)) is_carried_ = false;
    });
  }
  if (is_carried_) {
    take(arguments);
  } else {
    make_unknown(arguments);
  }
}

void Call::take(std::span<const c10::IValue> arguments) {
  each_tensor(arguments, [&](const at::Tensor& tensor, size_t argument) {
    Extent extent;
    if (sort_of(tensor) == Sort::device) extent = extent_of(tensor);
    extent.is_written = facts_.writes(argument);
    extents_.push_back(extent);
  });
  regions_ = regions_of(extents_);
  for (const Extent& region : regions_) {
    // The call's intermediate writes must not be applied twice.
    auto& before = before_.emplace_back();
    if (!region.is_written) continue;
    before.reset(new char[region.bytes()]);
    std::memcpy(before.get(), region.begin, region.bytes());
  }
  arguments_.assign(arguments.begin(), arguments.end());
}

void Call::make_unknown(std::span<const c10::IValue> arguments) const {
  constexpr size_t kRunningMean = 3, kRunningVariance = 4;
  each_tensor(arguments, [&](const at::Tensor& tensor, size_t argument) {
    const bool is_written = facts_.writes(argument) ||
                            (facts_.has_running_stats && (argument == kRunningMean || argument == kRunningVariance));
    if (is_written && sort_of(tensor) == Sort::device) set_unknown(tensor);
  });
}

// The tensor with this number in the call, as a CPU tensor.
at::Tensor Call::on_host(const at::Tensor& tensor, size_t number, bool is_written) {
  if (sort_of(tensor) != Sort::device) return tensor;
  Extent now = extent_of(tensor);
  now.is_written = is_written;
  if (now != extents_[number]) {  // it was resized: a result that the caller provided
    TORCH_CHECK(is_written, "an input was resized");
    return at::empty({0}, at::TensorOptions().dtype(tensor.dtype()).device(c10::kCPU));
  }
  const size_t region = region_of(regions_, now);
  if (region == regions_.size()) return alias(tensor, nullptr);  // no elements
  const auto& before = before_[region];
  return alias(tensor, before != nullptr ? before.get() + (now.begin - regions_[region].begin) : now.begin);
}

torch::jit::Stack Call::run() {
  const Alone alone;
  torch::jit::Stack stack;
  size_t number = 0;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    stack.push_back(
        changed(arguments_[i], [&](const at::Tensor& tensor) { return on_host(tensor, number++, facts_.writes(i)); }));
  }
  // In place: the results are in the arguments, which the operator pops from the stack.
  const std::vector<c10::IValue> given = facts_.written != 0 ? stack : torch::jit::Stack();
  facts_.op->callBoxed(stack);
  for (size_t i = 0; i < given.size(); ++i) {
    if (facts_.writes(i)) give_all(arguments_[i], given[i]);
  }
  return stack;
}

void Call::give(const at::Tensor& tensor, const at::Tensor& computed) const {
  if (sort_of(tensor) != Sort::device) return;
  if (!fake_kernels::is_small(tensor) || !computed.defined() || computed.sizes() != tensor.sizes()) {
    set_unknown(tensor);
    return;
  }
  const Alone alone;
  // Unknown values are never infinite, so that a program that checks for infinity continues.
  const bool is_made_finite = !is_known_ && at::isFloatingType(computed.scalar_type());
  alias(tensor, extent_of(tensor).begin).copy_(is_made_finite ? at::nan_to_num(computed, 0.0, 0.0, 0.0) : computed);
  fake_kernels::set_known(tensor, is_known_);
}

void Call::give_all(const c10::IValue& tensors, const c10::IValue& computed) const {
  if (tensors.isTensor() && computed.isTensor()) {
    give(tensors.toTensor(), computed.toTensor());
  } else if (tensors.isTensorList() && computed.isTensorList()) {
    const auto to = tensors.toListRef(), from = computed.toListRef();
    for (size_t i = 0; i < std::min(to.size(), from.size()); ++i) give_all(to[i], from[i]);
  }
}

void Call::carry_out(std::span<const c10::IValue> outputs) {
  // Small inputs may have a large result, which would use host memory.
  each_tensor(outputs, [&](const at::Tensor& tensor, size_t) {
    TORCH_CHECK(!tensor.defined() || fake_kernels::is_small(tensor), "a large result");
  });
  const torch::jit::Stack computed = run();
  for (size_t i = 0; i < std::min(computed.size(), outputs.size()); ++i) give_all(outputs[i], computed[i]);
  if (facts_.has_running_stats && !is_known_) make_unknown(arguments_);
}

void Call::end(std::span<const c10::IValue> outputs) noexcept {
  try {
    try {
      if (is_carried_) {
        carry_out(outputs);
        return;
      }
    } catch (...) {
      make_unknown(arguments_);
    }
    each_tensor(outputs, [](const at::Tensor& tensor, size_t) {
      if (sort_of(tensor) == Sort::device && fake_kernels::is_small(tensor)) set_unknown(tensor);
    });
  } catch (...) {  // out of memory: known values stay as they were
  }
}

}  // namespace tapelens::fake_kernels
