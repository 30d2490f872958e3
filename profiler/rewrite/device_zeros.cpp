#include "profiler/rewrite/device_zeros.h"

#include <c10/core/DeviceGuard.h>
#include <dlfcn.h>

#include <array>

#include "base/mutex.h"

namespace tapelens::rewrite {
namespace {

constexpr size_t kDevices = 64;
constexpr size_t kFilled = size_t{64} << 10;  // at once: a simulated GPU keeps the values of no larger storage
                                              // (kKeptBytes)
constexpr size_t kRegion = size_t{1} << 37;   // of addresses: more than any tensor on any GPU

// The driver's virtual memory API, with names and layouts of cuda.h, which are the same in all CUDA versions.
using Address = unsigned long long;
using Handle = unsigned long long;
struct Location {
  int type, id;
};
struct Properties {  // CUmemAllocationProp
  int type, shareable;
  Location location;
  void* windows;
  unsigned char flags[8];
};
struct Access {  // CUmemAccessDesc
  Location location;
  int flags;
};
constexpr int kPinned = 1, kDevice = 1, kReadWrite = 3, kRelaxed = 2, kSuccess = 0;

struct Driver {
  int (*granularity)(size_t*, const Properties*, int) = nullptr;
  int (*reserve)(Address*, size_t, size_t, Address, unsigned long long) = nullptr;
  int (*create)(Handle*, size_t, const Properties*, unsigned long long) = nullptr;
  int (*map)(Address, size_t, size_t, Handle, unsigned long long) = nullptr;
  int (*allow)(Address, size_t, const Access*, size_t) = nullptr;
  int (*fill)(Address, unsigned char, size_t) = nullptr;
  int (*exchange_mode)(int*) = nullptr;
  bool is_whole = false;
};

const Driver& driver() {
  static const Driver found = [] {
    Driver made;
    void* const library = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
    if (library == nullptr) return made;
    made.is_whole = true;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      made.is_whole = made.is_whole && function != nullptr;
    };
    find(made.granularity, "cuMemGetAllocationGranularity");
    find(made.reserve, "cuMemAddressReserve");
    find(made.create, "cuMemCreate");
    find(made.map, "cuMemMap");
    find(made.allow, "cuMemSetAccess");
    find(made.fill, "cuMemsetD8_v2");
    find(made.exchange_mode, "cuThreadExchangeStreamCaptureMode");
    dlclose(library);  // the program keeps it
    return made;
  }();
  return found;
}

// Another thread may be capturing a graph, and such calls would invalidate the capture.
class Relaxed {
 public:
  Relaxed() { driver().exchange_mode(&mode_); }
  ~Relaxed() { driver().exchange_mode(&mode_); }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;

 private:
  int mode_ = kRelaxed;
};

struct Zeros {
  Address begin = 0;
  Handle page = 0;
  size_t page_bytes = 0, mapped = 0;
  bool has_failed = false;
};

bool begin_zeros(Zeros& zeros, const Properties& properties) {
  const Driver& d = driver();
  return d.granularity(&zeros.page_bytes, &properties, 0) == kSuccess && zeros.page_bytes != 0 &&
         d.reserve(&zeros.begin, kRegion, 0, 0, 0) == kSuccess &&
         d.create(&zeros.page, zeros.page_bytes, &properties, 0) == kSuccess;
}

bool map_more(Zeros& zeros, uint64_t bytes, const Properties& properties) {
  const Driver& d = driver();
  const size_t was = zeros.mapped, end = (bytes + zeros.page_bytes - 1) / zeros.page_bytes * zeros.page_bytes;
  for (size_t at = was; at < end; at += zeros.page_bytes)
    if (d.map(zeros.begin + at, zeros.page_bytes, 0, zeros.page, 0) != kSuccess) return false;
  const Access access{properties.location, kReadWrite};
  if (d.allow(zeros.begin + was, end - was, &access, 1) != kSuccess) return false;
  for (size_t at = 0; was == 0 && at < zeros.page_bytes; at += kFilled)
    if (d.fill(zeros.begin + at, 0, kFilled) != kSuccess) return false;
  zeros.mapped = end;
  return true;
}

}  // namespace

void* device_zeros(c10::Device device, uint64_t bytes) {
  static auto* lock = new base::Mutex;
  static auto* all TAPELENS_PT_GUARDED_BY(*lock) = new std::array<Zeros, kDevices>;
  const auto index = static_cast<size_t>(device.index());
  if (index >= kDevices || bytes > kRegion || !driver().is_whole) return nullptr;
  const base::MutexLock guard(*lock);
  Zeros& zeros = (*all)[index];
  if (zeros.mapped == 0 || zeros.mapped < bytes) {
    if (zeros.has_failed) return nullptr;
    const c10::DeviceGuard there(device);
    const Relaxed relaxed;
    const Properties properties{kPinned, 0, {kDevice, device.index()}, nullptr, {}};
    if ((zeros.begin == 0 && !begin_zeros(zeros, properties)) || !map_more(zeros, bytes, properties)) {
      zeros.has_failed = true;
      return nullptr;
    }
  }
  return reinterpret_cast<void*>(zeros.begin);
}

}  // namespace tapelens::rewrite
