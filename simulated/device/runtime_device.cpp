// The CUDA runtime: devices, versions, errors, and look-up of driver functions.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "simulated/device/attributes.h"
#include "simulated/device/memory.h"
#include "simulated/device/state.h"

using namespace tapelens::simulated;

namespace {

struct ErrorText {
  int error;
  const char *name, *text;
};

constexpr ErrorText kErrors[] = {
    {kSuccess, "cudaSuccess", "no error"},
    {kInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {kOutOfMemory, "cudaErrorMemoryAllocation", "out of memory"},
    {kNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {kInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {kInvalidHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {kNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {kPeerAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {kPeerNotEnabled, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {kNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {kCaptureUnsupported, "cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
    {kCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
};

const ErrorText* find_error(int error) {
  for (const ErrorText& known : kErrors) {
    if (known.error == error) return &known;
  }
  return nullptr;
}

bool g_peers[kMostDevices][kMostDevices];

}  // namespace

TAPELENS_CUDA int cudaGetDeviceCount(int* count) {
  *count = device_count();
  return *count > 0 ? kSuccess : failed(kNoDevice);
}

TAPELENS_CUDA int cudaGetDevice(int* device) {
  if (device_count() == 0) return failed(kNoDevice);
  *device = current_device();
  return kSuccess;
}

TAPELENS_CUDA int cudaSetDevice(int device) { return failed(use_device(device)); }

TAPELENS_CUDA int cudaInitDevice(int device, unsigned, unsigned) {
  if (!is_device(device)) return failed(kInvalidDevice);
  begin_context(device);
  return kSuccess;
}

TAPELENS_CUDA int cudaDeviceGetPCIBusId(char* text, int room, int device) {
  if (!is_device(device)) return failed(kInvalidDevice);
  put_pci_bus_id(ordinal_of(device), false, text, room);
  return kSuccess;
}

TAPELENS_CUDA int cudaDeviceGetByPCIBusId(int* device, const char* text) {
  const int ordinal = ordinal_of_pci_bus_id(text);
  for (int i = 0; i < device_count(); ++i) {
    if (ordinal_of(i) != ordinal) continue;
    *device = i;
    return kSuccess;
  }
  return failed(kInvalidDevice);
}

TAPELENS_CUDA int cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (!is_device(device) || !is_device(peer)) return failed(kInvalidDevice);
  *can = device != peer;
  return kSuccess;
}

TAPELENS_CUDA int cudaDeviceEnablePeerAccess(int peer, unsigned) {
  if (!is_device(peer) || peer == current_device()) return failed(kInvalidDevice);
  if (__atomic_exchange_n(&g_peers[current_device()][peer], true, __ATOMIC_RELAXED)) return failed(kPeerAlreadyEnabled);
  return kSuccess;
}

TAPELENS_CUDA int cudaDeviceDisablePeerAccess(int peer) {
  if (!is_device(peer)) return failed(kInvalidDevice);
  if (!__atomic_exchange_n(&g_peers[current_device()][peer], false, __ATOMIC_RELAXED)) return failed(kPeerNotEnabled);
  return kSuccess;
}

TAPELENS_CUDA int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return kSuccess;
}

TAPELENS_CUDA int cudaDriverGetVersion(int* version) {
  *version = static_cast<int>(settings().cuda);
  return kSuccess;
}

TAPELENS_CUDA int cudaRuntimeGetVersion(int* version) {
  *version = static_cast<int>(settings().cuda);
  return kSuccess;
}

TAPELENS_CUDA int cudaMemGetInfo(size_t* free_bytes, size_t* all) {
  if (device_count() == 0) return failed(kNoDevice);
  begin_context(current_device());
  *all = settings().bytes;
  *free_bytes = *all - used_bytes(current_device());
  return kSuccess;
}

TAPELENS_CUDA int cudaGetLastError() { return take_last_error(); }
TAPELENS_CUDA int cudaPeekAtLastError() { return last_error(); }

TAPELENS_CUDA const char* cudaGetErrorName(int error) {
  const ErrorText* known = find_error(error);
  return known != nullptr ? known->name : "cudaErrorUnknown";
}

TAPELENS_CUDA const char* cudaGetErrorString(int error) {
  const ErrorText* known = find_error(error);
  return known != nullptr ? known->text : "unknown error";
}

TAPELENS_CUDA int cuGetErrorName(int error, const char** name) {
  *name = cudaGetErrorName(error);
  return find_error(error) != nullptr ? kSuccess : kInvalidValue;
}

TAPELENS_CUDA int cuGetErrorString(int error, const char** text) {
  *text = cudaGetErrorString(error);
  return find_error(error) != nullptr ? kSuccess : kInvalidValue;
}

// Returns the newest known form: since CUDA 12 all programs are compiled for the second one, if there are two.
static void* driver_function(const char* name) {
  char second[128];
  std::snprintf(second, sizeof(second), "%s_v2", name);
  void* function = std::strstr(name, "_v") == nullptr ? dlsym(RTLD_DEFAULT, second) : nullptr;
  return function != nullptr ? function : dlsym(RTLD_DEFAULT, name);
}

TAPELENS_CUDA int cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long,
                                                   int* found) {
  *function = driver_function(name);
  if (found != nullptr) *found = *function != nullptr ? 0 : 1;  // cudaDriverEntryPointSymbolNotFound
  return kSuccess;
}

TAPELENS_CUDA int cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags, int* found) {
  return cudaGetDriverEntryPointByVersion(name, function, 0, flags, found);
}

TAPELENS_CUDA int cuGetProcAddress_v2(const char* name, void** function, int, unsigned long long, int* found) {
  *function = driver_function(name);
  if (found != nullptr) *found = *function != nullptr ? 0 : 1;
  return *function != nullptr ? kSuccess : kNotFound;
}

TAPELENS_CUDA int cuGetProcAddress(const char* name, void** function, int version, unsigned long long flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}
