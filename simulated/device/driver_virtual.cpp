// The CUDA driver: virtual memory, which expandable segments use. The program reserves an address range, creates
// physical memory, and maps it there. Here the range is backed by memory from the start. Physical memory counts as used
// as long as it has an unreleased handle or a mapping.
#include <cstdlib>
#include <cstring>

#include "simulated/device/activities.h"
#include "simulated/device/memory.h"
#include "simulated/device/state.h"

using namespace tapelens::simulated;

namespace {

using Address = unsigned long long;  // CUdeviceptr
using Handle = unsigned long long;   // a Physical

constexpr size_t kPage = size_t{2} << 20;  // the driver's granularity

void* pointer(Address address) { return reinterpret_cast<void*>(address); }

struct Physical {
  size_t bytes;
  int device;
  uint64_t references;
};
struct Mapping {
  Address address;
  size_t bytes;
  Physical* physical;
  Mapping* next;
};

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;  // guards all of them; memory.h's lock is taken while it is held
Mapping* g_mappings;

Physical* physical(Handle handle) { return reinterpret_cast<Physical*>(handle); }

void drop_reference(Physical* of) {
  if (--of->references != 0) return;
  give_bytes(of->device, of->bytes);
  std::free(of);
}

// The start of CUmemAllocationProp.
struct Properties {
  int type, shareable, location_type, location;
};

int create(Handle* handle, size_t bytes, const void* properties) {
  Properties wanted{};
  std::memcpy(&wanted, properties, sizeof(wanted));
  const int device = wanted.location_type == 1 ? wanted.location : current_device();
  if (!is_device(device) || bytes == 0 || bytes % kPage != 0) return kInvalidValue;
  if (wanted.shareable != 0 && wanted.shareable != 1) return kNotSupported;  // no fabric handles
  begin_context(device);
  if (!take_bytes(device, bytes)) return kOutOfMemory;
  auto* made = make_handle<Physical>();
  *made = {bytes, device, 1};
  *handle = reinterpret_cast<Handle>(made);
  return kSuccess;
}

int map(Address address, size_t bytes, Handle handle) {
  if (find_range(pointer(address)).kind != Kind::reserved) return kInvalidValue;
  auto* made = make_handle<Mapping>();
  const Lock lock(g_mutex);
  *made = {address, bytes, physical(handle), g_mappings};
  g_mappings = made;
  ++made->physical->references;
  set_range_device(pointer(address), made->physical->device);
  return kSuccess;
}

int unmap(Address address, size_t bytes) {
  if (find_range(pointer(address)).kind != Kind::reserved) return kInvalidValue;
  make_new(pointer(address), bytes);
  const Lock lock(g_mutex);
  for (Mapping** at = &g_mappings; *at != nullptr;) {
    Mapping* one = *at;
    if (one->address < address || one->address - address >= bytes) {
      at = &one->next;
      continue;
    }
    *at = one->next;
    drop_reference(one->physical);
    std::free(one);
  }
  return kSuccess;
}

int retain(Handle* handle, Address address) {
  const Lock lock(g_mutex);
  for (const Mapping* one = g_mappings; one != nullptr; one = one->next) {
    if (address < one->address || address - one->address >= one->bytes) continue;
    ++one->physical->references;
    *handle = reinterpret_cast<Handle>(one->physical);
    return kSuccess;
  }
  return kInvalidValue;
}

// The parameters that CUPTI passes to its client: cuMemCreate_params and so on.
struct CreateParameters {
  Handle* handle;
  size_t bytes;
  const void* properties;
  unsigned long long flags;
};
struct MapParameters {
  Address address;
  size_t bytes, offset;
  Handle handle;
  unsigned long long flags;
};
struct UnmapParameters {
  Address address;
  size_t bytes;
};
struct RetainParameters {
  Handle* handle;
  void* address;
};

template <class Parameters, class Do>
int called(Function function, const Parameters& parameters, Do what) {
  int result = kSuccess;
  const Call call(function, &parameters, &result);
  result = what();
  return result;
}

}  // namespace

TAPELENS_CUDA int cuMemGetAllocationGranularity(size_t* bytes, const void*, int) {
  *bytes = kPage;
  return kSuccess;
}

TAPELENS_CUDA int cuMemAddressReserve(Address* address, size_t bytes, size_t, Address, unsigned long long) {
  if (bytes == 0 || bytes % kPage != 0) return kInvalidValue;
  char* begin = map_memory(bytes, kPage);
  if (begin == nullptr) return kOutOfMemory;
  add_range({begin, bytes, Kind::reserved, current_device(), true});
  *address = reinterpret_cast<Address>(begin);
  return kSuccess;
}

TAPELENS_CUDA int cuMemAddressFree(Address address, size_t) { return release(pointer(address)); }

TAPELENS_CUDA int cuMemCreate(Handle* handle, size_t bytes, const void* properties, unsigned long long flags) {
  return called(kMemCreate, CreateParameters{handle, bytes, properties, flags},
                [&] { return create(handle, bytes, properties); });
}

TAPELENS_CUDA int cuMemRelease(Handle handle) {
  return called(kMemRelease, handle, [&] {
    const Lock lock(g_mutex);
    drop_reference(physical(handle));
    return kSuccess;
  });
}

TAPELENS_CUDA int cuMemMap(Address address, size_t bytes, size_t offset, Handle handle, unsigned long long flags) {
  return called(kMemMap, MapParameters{address, bytes, offset, handle, flags},
                [&] { return map(address, bytes, handle); });
}

TAPELENS_CUDA int cuMemUnmap(Address address, size_t bytes) {
  return called(kMemUnmap, UnmapParameters{address, bytes}, [&] { return unmap(address, bytes); });
}

TAPELENS_CUDA int cuMemRetainAllocationHandle(Handle* handle, void* address) {
  return called(kMemRetain, RetainParameters{handle, address},
                [&] { return retain(handle, reinterpret_cast<Address>(address)); });
}

TAPELENS_CUDA int cuMemSetAccess(Address, size_t, const void*, size_t) { return kSuccess; }

TAPELENS_CUDA int cuMemGetAllocationPropertiesFromHandle(void* properties, Handle handle) {
  const Properties told{1, 0, 1, physical(handle)->device};
  std::memset(properties, 0, 32);
  std::memcpy(properties, &told, sizeof(told));
  return kSuccess;
}

// Memory of a simulated GPU cannot be shared between processes.
TAPELENS_CUDA int cuMemExportToShareableHandle(void*, Handle, int, unsigned long long) {
  return unsupported(Unsupported::shared_memory);
}
TAPELENS_CUDA int cuMemImportFromShareableHandle(Handle*, void*, int) {
  return unsupported(Unsupported::shared_memory);
}
