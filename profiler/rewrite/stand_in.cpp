#include "profiler/rewrite/stand_in.h"

#include <ATen/ATen.h>
#include <sys/mman.h>

#include <limits>

#include "profiler/rewrite/device_zeros.h"
#include "profiler/rewrite/guards.h"
#include "profiler/rewrite/streams.h"

namespace tapelens::rewrite {
namespace {

constexpr size_t kZeros = size_t{1} << 38;  // address space, not memory

void* zeros() {
  static void* const region = [] {
    void* made = mmap(nullptr, kZeros, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) return static_cast<void*>(nullptr);
    madvise(made, kZeros, MADV_DONTDUMP);  // keeps core files of the program small
    return made;
  }();
  return region;
}

}  // namespace

bool StandIn::has_room(c10::Device device, uint64_t bytes) {
  return streams::has_streams(device) ? device_zeros(device, bytes) != nullptr : bytes <= kZeros && zeros() != nullptr;
}

at::Tensor StandIn::decode() const {
  const c10::Device device = geometry_.device;
  if (!poison_) {
    void* const memory = streams::has_streams(device) ? device_zeros(device, geometry_.storage_bytes) : zeros();
    return geometry_.over(c10::Storage(c10::Storage::use_byte_size_t(), geometry_.storage_bytes,
                                       c10::DataPtr(memory, device), nullptr, false));
  }
  const Alone alone;
  at::Tensor made = geometry_.fresh();
  const at::ScalarType type = made.scalar_type();
  if (c10::isFloatingType(type) || c10::isComplexType(type)) {
    made.fill_(std::numeric_limits<double>::quiet_NaN());
  } else {
    made.fill_(type == at::kBool ? 1 : 0);  // an index out of range would fail for another reason
  }
  return made;
}

}  // namespace tapelens::rewrite
