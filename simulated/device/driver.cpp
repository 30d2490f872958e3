// The CUDA driver: the devices, contexts, modules and launches that PyTorch and Triton use.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "simulated/device/attributes.h"
#include "simulated/device/memory.h"
#include "simulated/device/state.h"
#include "simulated/device/streams.h"

using namespace tapelens::simulated;

namespace {

// kMostDevices for an invalid context.
int device_of(void* context) {
  for (int device = 0; device < device_count(); ++device) {
    if (context == context_of(device)) return device;
  }
  return kMostDevices;
}

}  // namespace

TAPELENS_CUDA int cuInit(unsigned) { return device_count() > 0 ? kSuccess : kNoDevice; }

// Private tables of NVIDIA's libraries. The real libnvrtc requests one, and works without it.
TAPELENS_CUDA int cuGetExportTable(const void** table, const void*) {
  *table = nullptr;
  return kNotFound;
}

TAPELENS_CUDA int cuDriverGetVersion(int* version) {
  *version = static_cast<int>(settings().cuda);
  return kSuccess;
}

TAPELENS_CUDA int cuDeviceGetCount(int* count) {
  *count = device_count();
  return kSuccess;
}

TAPELENS_CUDA int cuDeviceGet(int* device, int ordinal) {
  if (!is_device(ordinal)) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}

TAPELENS_CUDA int cuDeviceGetName(char* name, int room, int device) {
  if (!is_device(device)) return kInvalidDevice;
  std::snprintf(name, static_cast<size_t>(room), "%s", settings().name);
  return kSuccess;
}

TAPELENS_CUDA int cuDeviceGetUuid_v2(unsigned char (*uuid)[16], int device) {
  if (!is_device(device)) return kInvalidDevice;
  put_uuid(ordinal_of(device), *uuid);
  return kSuccess;
}

TAPELENS_CUDA int cuDeviceGetUuid(unsigned char (*uuid)[16], int device) { return cuDeviceGetUuid_v2(uuid, device); }

TAPELENS_CUDA int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  if (!is_device(device)) return kInvalidDevice;
  *bytes = settings().bytes;
  return kSuccess;
}

TAPELENS_CUDA int cuDeviceGetPCIBusId(char* text, int room, int device) {
  if (!is_device(device)) return kInvalidDevice;
  put_pci_bus_id(ordinal_of(device), false, text, room);
  return kSuccess;
}

TAPELENS_CUDA int cuDeviceComputeCapability(int* major, int* minor, int) {
  *major = static_cast<int>(settings().major);
  *minor = static_cast<int>(settings().minor);
  return kSuccess;
}

TAPELENS_CUDA int cuDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device != peer;
  return kSuccess;
}

TAPELENS_CUDA int cuCtxGetCurrent(void** context) {
  *context = has_context(current_device()) ? context_of(current_device()) : nullptr;
  return kSuccess;
}

TAPELENS_CUDA int cuCtxSetCurrent(void* context) {
  const int device = device_of(context);
  return device < kMostDevices ? use_device(device) : kSuccess;
}

TAPELENS_CUDA int cuCtxPushCurrent_v2(void* context) { return cuCtxSetCurrent(context); }
TAPELENS_CUDA int cuCtxPopCurrent_v2(void** context) {
  return context != nullptr ? cuCtxGetCurrent(context) : kSuccess;
}

TAPELENS_CUDA int cuCtxGetDevice(int* device) {
  if (device_count() == 0) return kNoDevice;
  *device = current_device();
  return kSuccess;
}

// Limits (stack, printf) only affect kernels.
TAPELENS_CUDA int cuCtxGetLimit(size_t* value, int) {
  *value = 0;
  return kSuccess;
}
TAPELENS_CUDA int cuCtxSetLimit(int, size_t) { return kSuccess; }

TAPELENS_CUDA int cuCtxSynchronize() { return kSuccess; }

TAPELENS_CUDA int cuCtxGetApiVersion(void*, unsigned* version) {
  *version = static_cast<unsigned>(settings().cuda);
  return kSuccess;
}

TAPELENS_CUDA int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return kSuccess;
}

TAPELENS_CUDA int cuDevicePrimaryCtxRetain(void** context, int device) {
  if (!is_device(device)) return kInvalidDevice;
  begin_context(device);
  *context = context_of(device);
  return kSuccess;
}

TAPELENS_CUDA int cuDevicePrimaryCtxRelease_v2(int) { return kSuccess; }
TAPELENS_CUDA int cuDevicePrimaryCtxSetFlags_v2(int, unsigned) { return kSuccess; }

TAPELENS_CUDA int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  if (!is_device(device)) return kInvalidDevice;
  *flags = 0;
  *active = has_context(device);
  return kSuccess;
}

// Green contexts (parts of a GPU) and multicast memory: not simulated.
TAPELENS_CUDA int cuGreenCtxCreate(void**, ...) { return kNotSupported; }
TAPELENS_CUDA int cuCtxFromGreenCtx(void**, ...) { return kNotSupported; }
TAPELENS_CUDA int cuDeviceGetDevResource(int, ...) { return kNotSupported; }
TAPELENS_CUDA int cuMulticastCreate(void*, ...) { return kNotSupported; }
TAPELENS_CUDA int cuMulticastAddDevice(unsigned long long, int) { return kNotSupported; }
TAPELENS_CUDA int cuMulticastBindMem(unsigned long long, ...) { return kNotSupported; }
TAPELENS_CUDA int cuMulticastUnbind(unsigned long long, ...) { return kNotSupported; }

// Modules: a module is a handle, which also stands for its kernels.
TAPELENS_CUDA int cuModuleLoadData(void** module, const void*) {
  *module = handle_memory(16);
  return kSuccess;
}

TAPELENS_CUDA int cuModuleLoadDataEx(void** module, const void* image, unsigned, int*, void**) {
  return cuModuleLoadData(module, image);
}

TAPELENS_CUDA int cuModuleLoad(void** module, const char*) { return cuModuleLoadData(module, nullptr); }

TAPELENS_CUDA int cuModuleUnload(void* module) {
  free(module);
  return kSuccess;
}

TAPELENS_CUDA int cuModuleGetFunction(void** function, void* module, const char*) {
  *function = module;
  return kSuccess;
}

TAPELENS_CUDA int cuModuleGetGlobal_v2(void**, size_t*, void*, const char*) { return kNotFound; }

TAPELENS_CUDA int cuModuleGetLoadingMode(int* mode) {
  *mode = 2;  // CU_MODULE_LAZY_LOADING
  return kSuccess;
}

TAPELENS_CUDA int cuLibraryLoadData(void** library, ...) { return cuModuleLoadData(library, nullptr); }
TAPELENS_CUDA int cuLibraryUnload(void* library) { return cuModuleUnload(library); }
TAPELENS_CUDA int cuLibraryGetKernel(void** kernel, void* library, const char*) {
  *kernel = library;
  return kSuccess;
}
TAPELENS_CUDA int cuLibraryGetModule(void** module, void* library) {
  *module = library;
  return kSuccess;
}
TAPELENS_CUDA int cuKernelGetFunction(void** function, void* kernel) {
  *function = kernel;
  return kSuccess;
}

// The driver's linker: its output is never read.
TAPELENS_CUDA int cuLinkCreate_v2(unsigned, int*, void**, void** state) {
  *state = handle_memory(16);
  return kSuccess;
}
TAPELENS_CUDA int cuLinkAddData_v2(void*, ...) { return kSuccess; }
TAPELENS_CUDA int cuLinkComplete(void* state, void** image, size_t* bytes) {
  *image = state;
  *bytes = 16;
  return kSuccess;
}
TAPELENS_CUDA int cuLinkDestroy(void* state) {
  free(state);
  return kSuccess;
}

TAPELENS_CUDA int cuFuncGetAttribute(int* value, int number, void*) {
  switch (number) {
    case 0:
      *value = 1024;
      break;  // threads of a block
    case 4:
      *value = 32;
      break;  // registers
    case 5:
    case 6:
      *value = static_cast<int>(10 * settings().major + settings().minor);
      break;
    case 8:
      *value = 49152;
      break;
    default:
      *value = 0;
  }
  return kSuccess;
}

TAPELENS_CUDA int cuFuncSetAttribute(void*, int, int) { return kSuccess; }
TAPELENS_CUDA int cuFuncSetCacheConfig(void*, int) { return kSuccess; }

TAPELENS_CUDA int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 void* stream, void**, void**) {
  count_node(stream);
  return kSuccess;
}

TAPELENS_CUDA int cuLaunchCooperativeKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                            void* stream, void**) {
  count_node(stream);
  return kSuccess;
}

TAPELENS_CUDA int cuLaunchKernelEx(const void* configuration, void*, void**, void**) {
  struct {
    unsigned grid[3], block[3], shared;
    void* stream;
  } read{};  // the begin of CUlaunchConfig
  std::memcpy(&read, configuration, sizeof(read));
  count_node(read.stream);
  return kSuccess;
}

TAPELENS_CUDA int cuTensorMapEncodeTiled(void* map, ...) {
  std::memset(map, 0, 128);  // CUtensorMap
  return kSuccess;
}

TAPELENS_CUDA int cuTensorMapEncodeIm2col(void* map, ...) {
  std::memset(map, 0, 128);
  return kSuccess;
}

TAPELENS_CUDA int cuStreamIsCapturing(void* stream, int* status) {
  *status = is_capturing(stream_of(stream)) ? kCapturing : kNotCapturing;
  return kSuccess;
}

TAPELENS_CUDA int cuStreamGetCtx(void* stream, void** context) {
  *context = context_of(stream_of(stream)->device);
  return kSuccess;
}
TAPELENS_CUDA int cuStreamGetCtx_v2(void* stream, void** context, void** part) {
  if (part != nullptr) *part = nullptr;
  return cuStreamGetCtx(stream, context);
}
TAPELENS_CUDA int cuStreamSynchronize(void*) { return kSuccess; }
TAPELENS_CUDA int cuStreamQuery(void*) { return kSuccess; }
