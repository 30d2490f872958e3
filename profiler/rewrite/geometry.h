// A tensor's position in its storage, and its device, so that a tensor can be made over another storage of the same
// bytes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace tapelens::rewrite {

// Memory of the device's LibTorch allocator; on CUDA for the current stream.
c10::Storage new_storage(c10::Device device, size_t bytes);
// A copy of the whole storage, made on the current stream. Throws during the capture of a graph, which would not run
// the copy.
c10::Storage copy_of(const c10::Storage& storage);
bool has_same_bits(const c10::Storage& a, const c10::Storage& b);  // of equal size; waits for the device

struct Geometry {
  c10::SmallVector<int64_t, 5> sizes, strides;
  int64_t offset = 0;  // in elements
  c10::Device device = c10::kCPU;
  caffe2::TypeMeta dtype;
  uint64_t storage_bytes = 0;

  Geometry() = default;
  explicit Geometry(const at::Tensor& tensor)
      : sizes(tensor.sizes().begin(), tensor.sizes().end()),
        strides(tensor.strides().begin(), tensor.strides().end()),
        offset(tensor.storage_offset()),
        device(tensor.device()),
        dtype(tensor.dtype()),
        storage_bytes(tensor.storage().nbytes()) {}

  at::Tensor over(c10::Storage storage) const {
    const auto key = device.is_cuda() ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU;
    auto impl = c10::make_intrusive<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(key), dtype);
    impl->set_storage_offset(offset);
    impl->set_sizes_and_strides(sizes, strides);
    return at::Tensor(std::move(impl));
  }
  // New memory with the same strides; the storage begins with the first element.
  at::Tensor fresh() const {
    Geometry here = *this;
    here.offset = 0;
    return here.over(new_storage(device, extent()));
  }
  // The storage's memory from the first element on, as `count` contiguous elements of a type.
  at::Tensor flat(const c10::Storage& storage, at::ScalarType type, int64_t count) const {
    Geometry here;
    here.sizes = {count};
    here.strides = {1};
    here.dtype = c10::scalarTypeToTypeMeta(type);
    here.offset = offset * static_cast<int64_t>(dtype.itemsize()) / static_cast<int64_t>(here.dtype.itemsize());
    here.device = device;
    return here.over(storage);
  }
  bool operator==(const Geometry& other) const {
    return sizes == other.sizes && strides == other.strides && offset == other.offset && dtype == other.dtype;
  }

 private:
  // Bytes from the first element to the end of the last.
  size_t extent() const {
    size_t last = 1;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == 0) return 0;
      last += static_cast<size_t>((sizes[i] - 1) * strides[i]);
    }
    return last * dtype.itemsize();
  }
};

}  // namespace tapelens::rewrite
