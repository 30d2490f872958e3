// Records the roles of tensors in a training: parameters, buffers, gradients, optimizer state.

#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include <atomic>
#include <unordered_map>

#include "base/mutex.h"
#include "profiler/observe/named_tensors.h"
#include "profiler/observe/observers.h"
#include "profiler/record/checksums.h"
#include "profiler/record/intern.h"
#include "profiler/record/storage.h"

namespace tapelens::record {
namespace {

using trace::RecordKind;

struct Parameters {
  base::Mutex lock;
  struct Named {
    uint32_t name = 0;
    uint64_t storage = 0;  // last reported as a parameter; for a wrapper subclass: its first inner tensor
  };
  std::unordered_map<const c10::TensorImpl*, Named> named TAPELENS_GUARDED_BY(lock);
  // Parameters whose storage is resized. The weak pointer detects another storage at the same address.
  struct Resized {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    uint32_t name = 0;
  };
  std::unordered_map<const c10::StorageImpl*, Resized> resized TAPELENS_GUARDED_BY(lock);
};
std::atomic<bool> g_follows_resizes{false};
Parameters& parameters() {
  static auto* made = new Parameters;
  return *made;
}

}  // namespace

uint64_t parameter_address(ThreadState& thread, const c10::TensorImpl& parameter) {
  if (!observe::may_be_wrapper(parameter)) return storage_of(thread, parameter).address;
  Parameters& p = parameters();
  const base::MutexLock guard(p.lock);
  const auto at = p.named.find(&parameter);
  return at == p.named.end() ? 0 : at->second.storage;
}

namespace {

// `storage`: for a wrapper subclass, that of its first inner tensor; else 0.
void name_parameter(const c10::TensorImpl* tensor, uint32_t name, uint64_t storage) {
  Parameters& p = parameters();
  const base::MutexLock guard(p.lock);
  Parameters::Named& named = p.named[tensor];
  named.name = name;
  if (named.storage == 0) named.storage = storage;
}

trace::Role recorded_role(observe::Role role) {
  switch (role) {
    case observe::Role::parameter:
      return trace::Role::parameter;
    case observe::Role::buffer:
      return trace::Role::buffer;
    case observe::Role::gradient:
      return trace::Role::gradient;
    default:
      return trace::Role::optimizer_state;
  }
}

void write_role(ThreadState& thread, trace::Role role, uint32_t name, const StorageView& storage,
                uint64_t parameter = 0) {
  if (storage.address == 0) return;
  thread.lane.write(trace::RoleRecord{header<trace::RoleRecord>(RecordKind::role, static_cast<uint8_t>(role), name),
                                      trace::ticks_now(), storage.address, storage.bytes, parameter});
}

}  // namespace

void role_told(Thread& of, observe::Role role, std::string_view name, const c10::TensorImpl& tensor,
               const c10::TensorImpl* owner) {
  ThreadState& thread = *of.recording;
  const uint32_t id = name.empty() ? 0 : intern_string(thread, name);
  const StorageView storage = storage_of(thread, tensor);
  if (role == observe::Role::parameter || role == observe::Role::buffer) {
    const c10::TensorImpl* parameter = owner != nullptr ? owner : &tensor;
    if (role == observe::Role::parameter) {
      name_parameter(parameter, id, owner != nullptr ? storage.address : 0);
      name_for_checksums(thread, const_cast<c10::TensorImpl*>(parameter), name);
    }
    return write_role(thread, recorded_role(role), id, storage);
  }
  write_role(thread, recorded_role(role), id, storage, owner != nullptr ? parameter_address(thread, *owner) : 0);
}

void follow_resizes(Thread& of, std::string_view name, const c10::TensorImpl& tensor) {
  auto* storage = tensor.unsafe_storage().unsafeGetStorageImpl();
  if (storage == nullptr) return;
  using Strong = c10::intrusive_ptr<c10::StorageImpl>;
  Parameters& p = parameters();
  const uint32_t id = intern_string(*of.recording, name);
  const base::MutexLock guard(p.lock);
  p.resized.insert_or_assign(
      storage, Parameters::Resized{c10::weak_intrusive_ptr<c10::StorageImpl>(Strong::reclaim_copy(storage)), id});
  g_follows_resizes.store(true, std::memory_order_relaxed);
}

void storage_resized(Thread& of, c10::StorageImpl& storage) {
  if (!g_follows_resizes.load(std::memory_order_relaxed)) return;
  uint32_t name = 0;
  {
    Parameters& p = parameters();
    const base::MutexLock guard(p.lock);
    const auto at = p.resized.find(&storage);
    if (at == p.resized.end()) return;
    name = at->second.name;
    if (at->second.storage.expired()) {
      p.resized.erase(at);
      return;
    }
  }
  write_role(*of.recording, trace::Role::parameter, name, view_of(*of.recording, &storage));
}

void gradient_accumulated(Thread& of, const torch::autograd::Node& node) {
  ThreadState& thread = *of.recording;
  const at::Tensor& variable = static_cast<const torch::autograd::AccumulateGrad&>(node).variable;
  if (!variable.defined()) return;
  const c10::TensorImpl* parameter = variable.unsafeGetTensorImpl();
  if (!observe::may_be_wrapper(*parameter)) {
    // Its memory may have changed since the report: model.half(), a new tensor behind `.data`.
    const StorageView storage = storage_of(thread, *parameter);
    Parameters& p = parameters();
    uint32_t name = 0;
    {
      const base::MutexLock guard(p.lock);
      const auto at = p.named.find(parameter);
      if (at != p.named.end() && at->second.storage != storage.address) {
        at->second.storage = storage.address;
        name = at->second.name;
      }
    }
    if (name != 0) write_role(thread, trace::Role::parameter, name, storage);
  }
  const at::Tensor& gradient = variable.grad();
  if (!gradient.defined()) return;
  const auto write = [&](const at::Tensor& one) {
    write_role(thread, trace::Role::gradient, 0, storage_of(thread, *one.unsafeGetTensorImpl()),
               parameter_address(thread, *parameter));
  };
  if (!observe::may_be_wrapper(*gradient.unsafeGetTensorImpl())) return write(gradient);
  for (const observe::NamedTensor& inner : observe::inner_tensors(of, gradient)) write(inner.tensor);
}

}  // namespace tapelens::record
