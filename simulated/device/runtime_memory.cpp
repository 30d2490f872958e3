// The CUDA runtime: memory of the GPUs and of the host, copies and fills.
#include <cstdlib>
#include <cstring>

#include "simulated/device/activities.h"
#include "simulated/device/memory.h"
#include "simulated/device/state.h"
#include "simulated/device/streams.h"

using namespace tapelens::simulated;

namespace {

// Host memory with a range: kind pinned or managed.
int allocate_host(void** memory, size_t bytes, Kind kind) {
  *memory = nullptr;
  if (bytes == 0) return kSuccess;
  char* begin = map_memory(bytes, 1);
  if (begin == nullptr) return failed(kOutOfMemory);
  add_range({begin, bytes, kind, current_device(), true});
  tell_memory({true, kind == Kind::managed ? ActivityMemory::managed : ActivityMemory::pinned, begin, bytes,
               current_device(), false});
  *memory = begin;
  return kSuccess;
}

// A copy of rows, without the gaps between them.
int copy_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t rows) {
  for (size_t row = 0; row < rows; ++row) {
    copy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width);
  }
  return kSuccess;
}

}  // namespace

TAPELENS_CUDA int cudaMalloc(void** memory, size_t bytes) {
  const Call call(kMalloc, __builtin_return_address(0));
  if (device_count() == 0) return failed(kNoDevice);
  return failed(allocate(current_device(), bytes, memory));
}

TAPELENS_CUDA int cudaFreeAsync(void* memory, void* stream);  // runtime_pools.cpp
TAPELENS_CUDA int cudaFree(void* memory) { return cudaFreeAsync(memory, nullptr); }

TAPELENS_CUDA int cudaMallocPitch(void** memory, size_t* pitch, size_t width, size_t height) {
  const Call call(kMallocPitch, __builtin_return_address(0));
  *pitch = (width + 511) / 512 * 512;
  return cudaMalloc(memory, *pitch * height);
}

TAPELENS_CUDA int cudaMallocManaged(void** memory, size_t bytes, unsigned) {
  const Call call(kMallocManaged, __builtin_return_address(0));
  return allocate_host(memory, bytes, Kind::managed);
}

TAPELENS_CUDA int cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  const Call call(kNoFunction, __builtin_return_address(0));
  return allocate_host(memory, bytes, Kind::pinned);
}

TAPELENS_CUDA int cudaMallocHost(void** memory, size_t bytes) {
  const Call call(kNoFunction, __builtin_return_address(0));
  return allocate_host(memory, bytes, Kind::pinned);
}

TAPELENS_CUDA int cudaFreeHost(void* memory) { return failed(release(memory)); }

TAPELENS_CUDA int cudaHostRegister(void* memory, size_t bytes, unsigned) {
  if (memory == nullptr || bytes == 0) return failed(kInvalidValue);
  if (find_range(memory).kind != Kind::none) return failed(712);  // cudaErrorHostMemoryAlreadyRegistered
  add_range({static_cast<char*>(memory), bytes, Kind::pinned, current_device(), false});
  return kSuccess;
}

TAPELENS_CUDA int cudaHostUnregister(void* memory) {
  return take_range(memory).kind == Kind::none ? failed(713) : kSuccess;  // cudaErrorHostMemoryNotRegistered
}

TAPELENS_CUDA int cudaHostGetDevicePointer(void** device_memory, void* memory, unsigned) {
  *device_memory = memory;
  return kSuccess;
}

TAPELENS_CUDA int cudaHostGetFlags(unsigned* flags, void*) {
  *flags = 0;
  return kSuccess;
}

TAPELENS_CUDA int cudaPointerGetAttributes(void* to, const void* memory) {
  struct {
    int type, device;
    void *on_device, *on_host;
    long reserved[8];
  } attributes{};
  const MemoryRange range = find_range(memory);
  void* address = const_cast<void*>(memory);
  attributes.device = range.kind == Kind::none ? -2 : range.device;  // cudaInvalidDeviceId
  switch (range.kind) {
    case Kind::none:
      break;
    case Kind::pinned:
      attributes.type = 1;
      break;
    case Kind::device:
    case Kind::pooled:
    case Kind::reserved:
      attributes.type = 2;
      break;
    case Kind::managed:
      attributes.type = 3;
      break;
  }
  if (range.kind != Kind::none) attributes.on_device = address;
  if (attributes.type != 2) attributes.on_host = address;
  // 24 bytes in CUDA 12, more in CUDA 13.
  std::memcpy(to, &attributes, settings().cuda >= 13000 ? sizeof(attributes) : 24);
  return kSuccess;
}

TAPELENS_CUDA int cudaMemcpy(void* to, const void* from, size_t bytes, int) {
  copy(to, from, bytes);
  return kSuccess;
}

TAPELENS_CUDA int cudaMemcpyAsync(void* to, const void* from, size_t bytes, int, void* stream) {
  count_node(stream);
  copy(to, from, bytes);
  return kSuccess;
}

TAPELENS_CUDA int cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
  copy(to, from, bytes);
  return kSuccess;
}

TAPELENS_CUDA int cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, void* stream) {
  return cudaMemcpyAsync(to, from, bytes, 0, stream);
}

TAPELENS_CUDA int cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                               size_t height, int) {
  return copy_rows(to, to_pitch, from, from_pitch, width, height);
}

TAPELENS_CUDA int cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                    size_t height, int, void* stream) {
  count_node(stream);
  return copy_rows(to, to_pitch, from, from_pitch, width, height);
}

TAPELENS_CUDA int cudaMemset(void* to, int value, size_t bytes) {
  fill(to, value, bytes);
  return kSuccess;
}

TAPELENS_CUDA int cudaMemsetAsync(void* to, int value, size_t bytes, void* stream) {
  count_node(stream);
  fill(to, value, bytes);
  return kSuccess;
}

TAPELENS_CUDA int cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, void* stream) {
  count_node(stream);
  for (size_t row = 0; row < height; ++row) fill(static_cast<char*>(to) + row * pitch, value, width);
  return kSuccess;
}

// Memory of a simulated GPU cannot be shared between processes.
TAPELENS_CUDA int cudaIpcGetMemHandle(void*, void*) { return failed(unsupported(Unsupported::shared_memory)); }
TAPELENS_CUDA int cudaIpcOpenMemHandle(void**, ...) { return failed(unsupported(Unsupported::shared_memory)); }
TAPELENS_CUDA int cudaIpcCloseMemHandle(void*) { return failed(kNotSupported); }
TAPELENS_CUDA int cudaIpcGetEventHandle(void*, void*) { return failed(unsupported(Unsupported::shared_memory)); }
TAPELENS_CUDA int cudaIpcOpenEventHandle(void**, ...) { return failed(unsupported(Unsupported::shared_memory)); }
