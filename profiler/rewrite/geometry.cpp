#include "profiler/rewrite/geometry.h"

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>

#include <cstring>

#include "profiler/rewrite/guards.h"
#include "profiler/rewrite/streams.h"

namespace tapelens::rewrite {
namespace {

// As elements of the largest possible size, because comparing them makes one byte per element.
at::Tensor words_of(const c10::Storage& storage) {
  Geometry geometry;
  geometry.device = storage.device();
  geometry.dtype = caffe2::TypeMeta::Make<uint8_t>();
  const auto bytes = static_cast<int64_t>(storage.nbytes());
  return bytes % 8 == 0 ? geometry.flat(storage, at::kLong, bytes / 8) : geometry.flat(storage, at::kByte, bytes);
}

}  // namespace

c10::Storage new_storage(c10::Device device, size_t bytes) {
  if (streams::has_streams(device)) {
    const Alone alone;
    return at::empty({static_cast<int64_t>(bytes)}, at::TensorOptions(at::kByte).device(device)).storage();
  }
  c10::Allocator* allocator = c10::GetCPUAllocator();
  return {c10::Storage::use_byte_size_t(), bytes, allocator->allocate(bytes), allocator, true};
}

c10::Storage copy_of(const c10::Storage& storage) {
  if (streams::has_streams(storage.device())) {
    TORCH_CHECK(!streams::is_capturing(storage.device()), "a captured graph writes the storage to copy");
    const Alone alone;
    return words_of(storage).clone().storage();
  }
  c10::Storage made = new_storage(storage.device(), storage.nbytes());
  std::memcpy(made.mutable_data(), storage.data(), storage.nbytes());
  return made;
}

bool has_same_bits(const c10::Storage& a, const c10::Storage& b) {
  if (!streams::has_streams(a.device())) return std::memcmp(a.data(), b.data(), a.nbytes()) == 0;
  const Alone alone;
  return at::equal(words_of(a), words_of(b));
}

}  // namespace tapelens::rewrite
