// Where in its storage a tensor lies, so that it can be laid over another storage of the same bytes.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/CPUAllocator.h>

#include <cstdint>

namespace tapelens::rewrite {

struct Geometry {
  c10::SmallVector<int64_t, 5> sizes, strides;
  int64_t offset = 0;  // in elements
  caffe2::TypeMeta dtype;
  uint64_t storage_bytes = 0;

  Geometry() = default;
  explicit Geometry(const at::Tensor& tensor)
      : sizes(tensor.sizes().begin(), tensor.sizes().end()),
        strides(tensor.strides().begin(), tensor.strides().end()),
        offset(tensor.storage_offset()),
        dtype(tensor.dtype()),
        storage_bytes(tensor.storage().nbytes()) {}

  at::Tensor over(c10::Storage storage) const {
    auto impl =
        c10::make_intrusive<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), dtype);
    impl->set_storage_offset(offset);
    impl->set_sizes_and_strides(sizes, strides);
    return at::Tensor(std::move(impl));
  }
  // Memory of its own, with the same strides; the storage begins with the first element.
  at::Tensor fresh() const {
    Geometry here = *this;
    here.offset = 0;
    c10::Allocator* allocator = c10::GetCPUAllocator();
    const size_t bytes = extent();
    return here.over(c10::Storage(c10::Storage::use_byte_size_t(), bytes, allocator->allocate(bytes), allocator, true));
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
