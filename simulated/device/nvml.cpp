// NVML: the machine's GPUs, regardless of CUDA_VISIBLE_DEVICES. Without NVLink, fabric, and processes.
#include <cstdio>
#include <cstring>

#include "simulated/device/attributes.h"
#include "simulated/device/memory.h"
#include "simulated/device/state.h"

using namespace tapelens::simulated;

namespace {

enum Nvml : int { kNvmlSuccess = 0, kNvmlInvalid = 2, kNvmlNotSupported = 3, kNvmlNotFound = 6, kNvmlSmall = 7 };

// A handle is the ordinal plus one, so that no handle is null.
void* handle_of(int ordinal) { return reinterpret_cast<void*>(static_cast<uintptr_t>(ordinal) + 1); }
int ordinal(void* handle) { return static_cast<int>(reinterpret_cast<uintptr_t>(handle)) - 1; }

int put_text(char* to, unsigned room, const char* text) {
  if (std::strlen(text) >= room) return kNvmlSmall;
  std::strcpy(to, text);
  return kNvmlSuccess;
}

void uuid_text(int of, char (&text)[64]) {
  unsigned char uuid[16];
  put_uuid(of, uuid);
  size_t length = static_cast<size_t>(std::snprintf(text, sizeof(text), "GPU-"));
  for (int i = 0; i < 16; ++i) {
    const bool dash = i == 4 || i == 6 || i == 8 || i == 10;
    length +=
        static_cast<size_t>(std::snprintf(text + length, sizeof(text) - length, "%s%02x", dash ? "-" : "", uuid[i]));
  }
}

// CUDA's number of the GPU; -1 if it is not visible to the process.
int device_of(int of) {
  for (int device = 0; device < device_count(); ++device) {
    if (ordinal_of(device) == of) return device;
  }
  return -1;
}

}  // namespace

TAPELENS_CUDA int nvmlInit_v2() { return kNvmlSuccess; }
TAPELENS_CUDA int nvmlInit() { return kNvmlSuccess; }
TAPELENS_CUDA int nvmlInitWithFlags(unsigned) { return kNvmlSuccess; }
TAPELENS_CUDA int nvmlShutdown() { return kNvmlSuccess; }

TAPELENS_CUDA const char* nvmlErrorString(int error) {
  switch (error) {
    case kNvmlSuccess:
      return "Success";
    case kNvmlInvalid:
      return "Invalid Argument";
    case kNvmlNotSupported:
      return "Not Supported";
    case kNvmlNotFound:
      return "Not Found";
    case kNvmlSmall:
      return "Insufficient Size";
    default:
      return "Unknown Error";
  }
}

TAPELENS_CUDA int nvmlSystemGetCudaDriverVersion(int* version) {
  *version = static_cast<int>(settings().cuda);
  return kNvmlSuccess;
}
TAPELENS_CUDA int nvmlSystemGetCudaDriverVersion_v2(int* version) { return nvmlSystemGetCudaDriverVersion(version); }

TAPELENS_CUDA int nvmlSystemGetDriverVersion(char* text, unsigned room) { return put_text(text, room, "simulated"); }

TAPELENS_CUDA int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(settings().count);
  return kNvmlSuccess;
}
TAPELENS_CUDA int nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }

TAPELENS_CUDA int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= settings().count) return kNvmlInvalid;
  *device = handle_of(static_cast<int>(index));
  return kNvmlSuccess;
}
TAPELENS_CUDA int nvmlDeviceGetHandleByIndex(unsigned index, void** device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

TAPELENS_CUDA int nvmlDeviceGetHandleByPciBusId_v2(const char* text, void** device) {
  const int of = ordinal_of_pci_bus_id(text);
  if (of < 0) return kNvmlNotFound;
  *device = handle_of(of);
  return kNvmlSuccess;
}

TAPELENS_CUDA int nvmlDeviceGetHandleByUUID(const char* wanted, void** device) {
  for (int of = 0; of < static_cast<int>(settings().count); ++of) {
    char text[64];
    uuid_text(of, text);
    if (std::strcmp(text, wanted) != 0) continue;
    *device = handle_of(of);
    return kNvmlSuccess;
  }
  return kNvmlNotFound;
}

TAPELENS_CUDA int nvmlDeviceGetUUID(void* device, char* to, unsigned room) {
  char text[64];
  uuid_text(ordinal(device), text);
  return put_text(to, room, text);
}

TAPELENS_CUDA int nvmlDeviceGetName(void*, char* to, unsigned room) { return put_text(to, room, settings().name); }

TAPELENS_CUDA int nvmlDeviceGetIndex(void* device, unsigned* index) {
  *index = static_cast<unsigned>(ordinal(device));
  return kNvmlSuccess;
}

TAPELENS_CUDA int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = static_cast<int>(settings().major);
  *minor = static_cast<int>(settings().minor);
  return kNvmlSuccess;
}

TAPELENS_CUDA int nvmlDeviceGetMemoryInfo(void* handle, unsigned long long* total_free_used) {
  const int device = device_of(ordinal(handle));
  const uint64_t used = device >= 0 ? used_bytes(device) : 0;
  total_free_used[0] = settings().bytes;
  total_free_used[1] = settings().bytes - used;
  total_free_used[2] = used;
  return kNvmlSuccess;
}

TAPELENS_CUDA int nvmlDeviceGetComputeRunningProcesses(void*, unsigned* count, void*) {
  *count = 0;
  return kNvmlSuccess;
}
TAPELENS_CUDA int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, void*) {
  *count = 0;
  return kNvmlSuccess;
}

TAPELENS_CUDA int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, int*) { return kNvmlNotSupported; }
TAPELENS_CUDA int nvmlDeviceGetNvLinkRemotePciInfo_v2(void*, unsigned, void*) { return kNvmlNotSupported; }

// A driver supports this from Hopper on; here the GPU is in no fabric. PyTorch warns if a driver does not support it.
TAPELENS_CUDA int nvmlDeviceGetGpuFabricInfoV(void*, void* fabric) {
  struct Fabric {
    unsigned version;
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;  // 0: no fabric
  };
  if (settings().major < 9) return kNvmlNotSupported;
  auto* told = static_cast<Fabric*>(fabric);
  std::memset(told->cluster, 0, sizeof(told->cluster));
  told->status = kNvmlSuccess;
  told->clique = 0;
  told->state = 0;
  return kNvmlSuccess;
}

TAPELENS_CUDA int nvmlDeviceGetP2PStatus(void*, void*, int, int* status) {
  *status = 3;  // NVML_P2P_STATUS_GPU_NOT_SUPPORTED
  return kNvmlSuccess;
}
