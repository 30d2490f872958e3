#include "simulated/device/attributes.h"

#include <cstdio>
#include <cstring>

#include "simulated/device/state.h"

namespace tapelens::simulated {
namespace {

// cudaDeviceProp of CUDA 13 (driver_types.h).
struct Properties13 {
  char name[256];
  unsigned char uuid[16];
  char luid[8];
  unsigned luid_mask;
  size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize;
  size_t memPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
  size_t totalConstMem;
  int major, minor;
  size_t textureAlignment, texturePitchAlignment;
  int multiProcessorCount, integrated, canMapHostMemory;
  int textures_and_surfaces[39];
  size_t surfaceAlignment;
  int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount, unifiedAddressing,
      memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor, streamPrioritiesSupported,
      globalL1CacheSupported, localL1CacheSupported;
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported,
      pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported, canUseHostPointerForRegisteredMem,
      cooperativeLaunch;
  size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor,
      accessPolicyMaxWindowSize;
  size_t reservedSharedMemPerBlock;
  int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported, timelineSemaphoreInteropSupported,
      memoryPoolsSupported, gpuDirectRDMASupported;
  unsigned gpuDirectRDMAFlushWritesOptions;
  int gpuDirectRDMAWritesOrdering;
  unsigned memoryPoolSupportedHandleTypes;
  int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers;
  int rest[63];
};

// cudaDeviceProp of CUDA 12: has clocks and modes in between, which CUDA 13 removed.
struct Properties12 {
  char name[256];
  unsigned char uuid[16];
  char luid[8];
  unsigned luid_mask;
  size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize;
  size_t memPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
  size_t totalConstMem;
  int major, minor;
  size_t textureAlignment, texturePitchAlignment;
  int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode;
  int textures_and_surfaces[40];
  size_t surfaceAlignment;
  int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount, unifiedAddressing,
      memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor,
      streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported,
      singleToDoublePrecisionPerfRatio, pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported,
      canUseHostPointerForRegisteredMem, cooperativeLaunch, cooperativeMultiDeviceLaunch;
  size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor,
      accessPolicyMaxWindowSize;
  size_t reservedSharedMemPerBlock;
  int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported, timelineSemaphoreInteropSupported,
      memoryPoolsSupported, gpuDirectRDMASupported;
  unsigned gpuDirectRDMAFlushWritesOptions;
  int gpuDirectRDMAWritesOrdering;
  unsigned memoryPoolSupportedHandleTypes;
  int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers;
  int rest[63];
};

// The sizes in the headers of CUDA 13.2 and 12.8.
static_assert(sizeof(Properties13) == 1008 && sizeof(Properties12) == 1032);

template <class Properties>
void tell(Properties& p, int device) {
  const GpuSettings& gpu = settings();
  std::memset(&p, 0, sizeof(p));
  std::memcpy(p.name, gpu.name, sizeof(gpu.name));
  put_uuid(ordinal_of(device), p.uuid);
  p.totalGlobalMem = gpu.bytes;
  p.sharedMemPerBlock = static_cast<size_t>(attribute(8, device));
  p.regsPerBlock = attribute(12, device);
  p.warpSize = attribute(10, device);
  p.memPitch = static_cast<size_t>(attribute(11, device));
  p.maxThreadsPerBlock = attribute(1, device);
  for (int i = 0; i < 3; ++i) {
    p.maxThreadsDim[i] = attribute(2 + i, device);
    p.maxGridSize[i] = attribute(5 + i, device);
  }
  p.totalConstMem = static_cast<size_t>(attribute(9, device));
  p.major = static_cast<int>(gpu.major);
  p.minor = static_cast<int>(gpu.minor);
  p.textureAlignment = static_cast<size_t>(attribute(14, device));
  p.texturePitchAlignment = static_cast<size_t>(attribute(51, device));
  p.surfaceAlignment = static_cast<size_t>(attribute(30, device));
  p.multiProcessorCount = attribute(16, device);
  p.canMapHostMemory = attribute(19, device);
  p.concurrentKernels = attribute(31, device);
  p.ECCEnabled = attribute(32, device);
  p.pciBusID = attribute(33, device);
  p.asyncEngineCount = attribute(40, device);
  p.unifiedAddressing = attribute(41, device);
  p.memoryBusWidth = attribute(37, device);
  p.l2CacheSize = attribute(38, device);
  p.maxThreadsPerMultiProcessor = attribute(39, device);
  p.streamPrioritiesSupported = attribute(78, device);
  p.globalL1CacheSupported = attribute(79, device);
  p.localL1CacheSupported = attribute(80, device);
  p.sharedMemPerMultiprocessor = static_cast<size_t>(attribute(81, device));
  p.regsPerMultiprocessor = attribute(82, device);
  p.managedMemory = attribute(83, device);
  p.computePreemptionSupported = attribute(90, device);
  p.canUseHostPointerForRegisteredMem = attribute(91, device);
  p.cooperativeLaunch = attribute(95, device);
  p.sharedMemPerBlockOptin = static_cast<size_t>(attribute(97, device));
  p.hostRegisterSupported = attribute(99, device);
  p.maxBlocksPerMultiProcessor = attribute(106, device);
  p.reservedSharedMemPerBlock = static_cast<size_t>(attribute(111, device));
  p.memoryPoolsSupported = attribute(115, device);
  p.clusterLaunch = attribute(120, device);
}

template <class Properties>
int properties(Properties* properties, int device) {
  if (properties == nullptr) return failed(kInvalidValue);
  if (!is_device(device)) return failed(device_count() == 0 ? kNoDevice : kInvalidDevice);
  tell(*properties, device);
  return kSuccess;
}

// Attributes that are the same for all GPUs that can be simulated.
struct FixedAttribute {
  int number, value;
};

constexpr FixedAttribute kFixedAttributes[] = {
    {1, 1024},                                  // threads of a block
    {2, 1024},        {3, 1024},   {4, 64},     // and along each side
    {5, 2147483647},  {6, 65535},  {7, 65535},  // blocks of a grid along each side
    {8, 49152},                                 // shared memory of a block without opt-in
    {9, 65536},                                 // constant memory
    {10, 32},                                   // threads of a warp
    {11, 2147483647},                           // pitch
    {12, 65536},      {82, 65536},              // registers of a block, of a processor
    {14, 512},        {30, 512},   {51, 32},    // alignment of textures and surfaces
    {15, 1},          {40, 3},                  // copies beside kernels, copy engines
    {19, 1},          {99, 1},     {91, 1},     // maps host memory, registers it, at its own address
    {31, 1},                                    // concurrent kernels
    {32, 1},                                    // ECC
    {41, 1},                                    // unified addressing
    {78, 1},                                    // priorities of streams
    {79, 1},          {80, 1},                  // caches
    {83, 1},                                    // managed memory
    {90, 1},                                    // preemption
    {95, 1},                                    // cooperative launches
    {102, 1},                                   // the driver's virtual memory calls
    {115, 1},                                   // memory pools
    {124, 1},                                   // function pointers
};

}  // namespace

int attribute(int number, int device) {
  const GpuSettings& gpu = settings();
  switch (number) {
    case 16:
      return static_cast<int>(gpu.processors);
    case 33:
      return ordinal_of(device) + 1;  // PCI bus
    case 37:
      return static_cast<int>(gpu.bus_bits);
    case 38:
      return static_cast<int>(gpu.l2_bytes);
    case 39:
      return static_cast<int>(gpu.threads_per_processor);
    case 75:
      return static_cast<int>(gpu.major);
    case 76:
      return static_cast<int>(gpu.minor);
    case 81:
      return static_cast<int>(gpu.shared_per_processor);
    case 97:
      return static_cast<int>(gpu.shared_per_block);
    case 106:
      return static_cast<int>(gpu.blocks_per_processor);
    case 111:
      return gpu.major >= 8 ? 1024 : 0;  // shared memory of a block that CUDA itself uses
    case 120:
      return gpu.major >= 9 ? 1 : 0;  // clusters
    default:
      break;
  }
  for (const FixedAttribute& fixed : kFixedAttributes) {
    if (fixed.number == number) return fixed.value;
  }
  return 0;
}

void put_uuid(int ordinal, unsigned char (&uuid)[16]) {
  std::memcpy(uuid, "tapelens-gpu\0\0\0", 16);
  uuid[15] = static_cast<unsigned char>(ordinal);
}

void put_pci_bus_id(int ordinal, bool wide, char* text, int room) {
  std::snprintf(text, static_cast<size_t>(room), wide ? "%08x:%02x:00.0" : "%04x:%02x:00.0", 0, ordinal + 1);
}

int ordinal_of_pci_bus_id(const char* text) {
  unsigned domain = 0, bus = 0, slot = 0;
  if (std::sscanf(text, "%x:%x:%x", &domain, &bus, &slot) < 3 || domain != 0 || slot != 0) return -1;
  return bus >= 1 && bus <= settings().count ? static_cast<int>(bus) - 1 : -1;
}

}  // namespace tapelens::simulated

using namespace tapelens::simulated;

TAPELENS_CUDA int cudaGetDeviceProperties(void* to, int device) {
  return properties(static_cast<Properties13*>(to), device);
}

TAPELENS_CUDA int cudaGetDeviceProperties_v2(void* to, int device) {
  return properties(static_cast<Properties12*>(to), device);
}

TAPELENS_CUDA int cudaDeviceGetAttribute(int* value, int number, int device) {
  if (!is_device(device)) return failed(kInvalidDevice);
  *value = attribute(number, device);
  return kSuccess;
}

TAPELENS_CUDA int cuDeviceGetAttribute(int* value, int number, int device) {
  if (!is_device(device)) return kInvalidDevice;
  *value = attribute(number, device);
  return kSuccess;
}
