// The CUDA driver: memory, copies and fills.
#include <cstring>

#include "simulated/device/activities.h"
#include "simulated/device/memory.h"
#include "simulated/device/state.h"
#include "simulated/device/streams.h"

using namespace tapelens::simulated;

namespace {

using Address = unsigned long long;  // CUdeviceptr
void* pointer(Address address) { return reinterpret_cast<void*>(address); }

// Reads a CUpointer_attribute; kNotSupported for unused ones.
int pointer_attribute(void* to, int number, const MemoryRange& range, Address address) {
  const bool is_device = range.kind == Kind::device || range.kind == Kind::pooled || range.kind == Kind::reserved;
  const auto put = [to](auto value) { std::memcpy(to, &value, sizeof(value)); };
  switch (number) {
    case 1:
      put(context_of(range.device));
      return kSuccess;
    case 2:
      put(is_device ? 2U : 1U);
      return kSuccess;  // memory type: host 1, device 2
    case 3:
      put(address);
      return kSuccess;  // as the device sees it
    case 4:
      if (is_device) return kInvalidValue;
      put(address);
      return kSuccess;
    case 7:
      put(static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(range.begin)));
      return kSuccess;  // id
    case 8:
      put(range.kind == Kind::managed ? 1U : 0U);
      return kSuccess;
    case 9:
      put(range.device);
      return kSuccess;
    case 11:
      put(reinterpret_cast<Address>(range.begin));
      return kSuccess;
    case 12:
      put(range.bytes);
      return kSuccess;
    default:
      return kNotSupported;
  }
}

}  // namespace

TAPELENS_CUDA int cuMemAlloc_v2(Address* address, size_t bytes) {
  const Call call(kMemAlloc, __builtin_return_address(0));
  void* memory = nullptr;
  const int error = allocate(current_device(), bytes, &memory);
  *address = reinterpret_cast<Address>(memory);
  return error;
}

TAPELENS_CUDA int cuMemsetD8_v2(Address address, unsigned char value, size_t bytes) {
  if (!find_range(pointer(address)).is_on_device()) return kInvalidValue;
  fill(pointer(address), value, bytes);
  return kSuccess;
}

TAPELENS_CUDA int cuMemFree_v2(Address address) { return release(pointer(address)); }

TAPELENS_CUDA int cuMemGetInfo_v2(size_t* free_bytes, size_t* all) {
  *all = settings().bytes;
  *free_bytes = *all - used_bytes(current_device());
  return kSuccess;
}

TAPELENS_CUDA int cuMemGetAddressRange_v2(Address* begin, size_t* bytes, Address address) {
  const MemoryRange range = find_range(pointer(address));
  if (range.kind == Kind::none) return kInvalidValue;
  if (begin != nullptr) *begin = reinterpret_cast<Address>(range.begin);
  if (bytes != nullptr) *bytes = range.bytes;
  return kSuccess;
}

TAPELENS_CUDA int cuPointerGetAttribute(void* to, int number, Address address) {
  const MemoryRange range = find_range(pointer(address));
  return range.kind == Kind::none ? kInvalidValue : pointer_attribute(to, number, range, address);
}

// An unknown attribute of a pointer reads null here, without an error.
TAPELENS_CUDA int cuPointerGetAttributes(unsigned count, const int* numbers, void** to, Address address) {
  const MemoryRange range = find_range(pointer(address));
  for (unsigned i = 0; i < count; ++i) {
    if (range.kind == Kind::none || pointer_attribute(to[i], numbers[i], range, address) != kSuccess) {
      std::memset(to[i], 0, 4);
    }
  }
  return kSuccess;
}

TAPELENS_CUDA int cuMemHostGetDevicePointer_v2(Address* address, void* memory, unsigned) {
  *address = reinterpret_cast<Address>(memory);
  return kSuccess;
}

TAPELENS_CUDA int cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, void* stream) {
  count_node(stream);
  copy(pointer(to), from, bytes);
  return kSuccess;
}

TAPELENS_CUDA int cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, void* stream) {
  count_node(stream);
  copy(to, pointer(from), bytes);
  return kSuccess;
}

TAPELENS_CUDA int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, void* stream) {
  count_node(stream);
  copy(pointer(to), pointer(from), bytes);
  return kSuccess;
}

TAPELENS_CUDA int cuMemcpyHtoD_v2(Address to, const void* from, size_t bytes) {
  copy(pointer(to), from, bytes);
  return kSuccess;
}

TAPELENS_CUDA int cuMemcpyDtoH_v2(void* to, Address from, size_t bytes) {
  copy(to, pointer(from), bytes);
  return kSuccess;
}

TAPELENS_CUDA int cuMemsetD32Async(Address to, unsigned value, size_t words, void* stream) {
  count_node(stream);
  fill_words(pointer(to), value, words);
  return kSuccess;
}

TAPELENS_CUDA int cuMemsetD8Async(Address to, unsigned char value, size_t bytes, void* stream) {
  count_node(stream);
  fill(pointer(to), value, bytes);
  return kSuccess;
}

TAPELENS_CUDA int cuStreamWriteValue32_v2(void* stream, Address to, unsigned value, unsigned) {
  count_node(stream);
  std::memcpy(pointer(to), &value, sizeof(value));
  return kSuccess;
}
TAPELENS_CUDA int cuStreamWriteValue32(void* stream, Address to, unsigned value,
                                       unsigned flags) {  // CUDA 11's and 12's
  return cuStreamWriteValue32_v2(stream, to, value, flags);
}
