#include "profiler/fake_kernels/aliases.h"

#include <ATen/ops/from_blob.h>
#include <c10/core/DispatchKeySet.h>
#include <dlfcn.h>

#include "simulated/settings/settings.h"

namespace tapelens::fake_kernels {

const simulated::KnownTable* g_device = nullptr;

const simulated::KnownTable* find_device() {
  const auto* table = static_cast<const simulated::KnownTable*>(dlsym(RTLD_DEFAULT, simulated::kKnownTable));
  return table != nullptr && table->version == simulated::kKnownVersion ? table : nullptr;
}

namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;

// All dispatch keys of an ordinary tensor.
constexpr DispatchKeySet kHostKeys({DispatchKey::CPU, DispatchKey::ADInplaceOrView, DispatchKey::AutogradCPU,
                                    DispatchKey::AutocastCPU});
constexpr DispatchKeySet kDeviceKeys({DispatchKey::CUDA, DispatchKey::ADInplaceOrView, DispatchKey::AutogradCUDA,
                                      DispatchKey::AutocastCUDA});

bool has_only(DispatchKeySet keys, DispatchKeySet allowed) { return (keys.raw_repr() & ~allowed.raw_repr()) == 0; }

char* memory_of(const at::Tensor& tensor) {
  auto* storage = tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
  auto* begin = static_cast<char*>(storage->_mutable_data_ptr_no_checks().get());
  return begin != nullptr ? begin + tensor.storage_offset() * static_cast<int64_t>(tensor.element_size()) : nullptr;
}

// Calls take(first byte, bytes) for each run of contiguous elements.
template <class Take>
void each_run(const at::Tensor& tensor, Take take) {
  char* const begin = memory_of(tensor);
  if (tensor.numel() == 0 || begin == nullptr) return;
  if (tensor.is_non_overlapping_and_dense()) {
    take(begin, tensor.nbytes());
    return;
  }
  const auto sizes = tensor.sizes(), strides = tensor.strides();
  const auto width = static_cast<int64_t>(tensor.element_size());
  std::vector<int64_t> at(sizes.size(), 0);
  int64_t offset = 0;
  for (int64_t left = tensor.numel(); left > 0; --left) {
    take(begin + offset * width, static_cast<size_t>(width));
    for (size_t i = sizes.size(); i-- > 0;) {
      offset += strides[i];
      if (++at[i] < sizes[i]) break;
      offset -= strides[i] * sizes[i];
      at[i] = 0;
    }
  }
}

}  // namespace

Sort sort_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return Sort::undefined;
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  const bool is_device = has_only(impl.key_set(), kDeviceKeys);
  if (!is_device && !has_only(impl.key_set(), kHostKeys)) return Sort::other;
  if (!impl.has_storage() || impl.has_symbolic_sizes_strides()) return Sort::other;
  const auto bytes = impl.unsafe_storage().sym_nbytes().maybe_as_int();
  if (!bytes) return Sort::other;
  // A storage may have been resized to 0 while its tensors keep their sizes.
  const Extent extent = extent_of(tensor);
  const auto needed = static_cast<int64_t>(extent.bytes()) +
                      (extent.bytes() == 0 ? 0 : tensor.storage_offset() * static_cast<int64_t>(tensor.element_size()));
  if (needed > *bytes || (needed > 0 && extent.begin == nullptr)) return Sort::other;
  return is_device ? Sort::device : Sort::host;
}

Extent extent_of(const at::Tensor& tensor) {
  char* const begin = memory_of(tensor);
  if (tensor.numel() == 0) return {begin, begin};
  int64_t last = 0;
  for (int64_t i = 0; i < tensor.dim(); ++i) last += (tensor.size(i) - 1) * tensor.stride(i);
  return {begin, begin + (last + 1) * static_cast<int64_t>(tensor.element_size())};
}

bool is_small(const at::Tensor& tensor) {
  return tensor.nbytes() <= simulated::kKeptBytes && extent_of(tensor).bytes() <= simulated::kKeptBytes;
}

at::Tensor alias(const at::Tensor& tensor, char* memory) {
  at::Tensor made = at::for_blob(memory, tensor.sizes())
                        .strides(tensor.strides())
                        .options(at::TensorOptions().dtype(tensor.dtype()).device(c10::kCPU))
                        .target_device(c10::Device(c10::kCPU))
                        .make_tensor();
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) made.unsafeGetTensorImpl()->set_wrapped_number(true);
  return made;
}

bool is_known(const at::Tensor& tensor) {
  bool known = true;
  each_run(tensor, [&](char* begin, size_t bytes) { known = known && g_device->is_known(begin, bytes); });
  return known;
}

void set_known(const at::Tensor& tensor, bool known) {
  each_run(tensor, [&](char* begin, size_t bytes) { g_device->set_known(begin, bytes, known); });
}

void set_unknown(const at::Tensor& tensor) {
  const Extent extent = extent_of(tensor);
  if (extent.bytes() > 0 && extent.begin != nullptr) g_device->set_known(extent.begin, extent.bytes(), false);
}

}  // namespace tapelens::fake_kernels
