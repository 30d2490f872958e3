#include "profiler/rewrite/offload.h"

#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "profiler/observe/thread.h"
#include "profiler/rewrite/attempt.h"
#include "profiler/rewrite/geometry.h"
#include "profiler/rewrite/group_memory.h"
#include "profiler/rewrite/guards.h"
#include "profiler/rewrite/host.h"
#include "profiler/rewrite/settings.h"
#include "profiler/rewrite/storage_versions.h"
#include "profiler/rewrite/streams.h"
#include "profiler/versions/host_memory.h"
#include "profiler/versions/read_ahead.h"

namespace tapelens::rewrite {
namespace {

// ---- the host's memory

// The memory that the machine, and the control group of the process, could give; 0: unknown.
uint64_t free_memory() {
  uint64_t most = 0;
  std::ifstream machine("/proc/meminfo");
  for (std::string name, unit; machine >> name;) {
    uint64_t kib = 0;
    if (!(machine >> kib)) break;
    std::getline(machine, unit);
    if (name == "MemAvailable:") most = kib << 10;
  }
  return within_group(most);
}

// Half of the free memory, shared by the processes that a launcher started on this machine.
uint64_t usual_limit() {
  const char* ranks = std::getenv("LOCAL_WORLD_SIZE");
  const long here = ranks != nullptr ? std::strtol(ranks, nullptr, 10) : 1;
  return free_memory() / 2 / static_cast<uint64_t>(std::clamp(here, 1L, 1024L));
}

versions::HostMemory& host_memory() {
  static auto* made = new versions::HostMemory(settings().host_memory ? *settings().host_memory : usual_limit());
  return *made;
}

// A part of the limit.
class Share {
 public:
  Share() = default;
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;
  ~Share() { host_memory().give(bytes_); }
  bool take(uint64_t bytes) {
    if (!host_memory().take(bytes)) return false;
    bytes_ = bytes;
    has_host_bytes(host_memory().used());
    return true;
  }

 private:
  uint64_t bytes_ = 0;
};

// ---- the stream for the copies

c10::impl::VirtualGuardImpl cuda() { return c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA); }

// One that the program cannot get from PyTorch's pools: the program could capture a graph on it. LibTorch identifies a
// stream of the driver by its address.
c10::Stream new_stream(c10::Device device) {
  using Create = int (*)(void** stream, unsigned flags);
  constexpr unsigned kNonBlocking = 1;  // does not wait for CUDA's default stream
  void* const library = dlopen("libc10_cuda.so", RTLD_NOLOAD | RTLD_LAZY);
  TORCH_CHECK(library != nullptr, "libc10_cuda.so is not loaded");
  const auto create = reinterpret_cast<Create>(dlsym(library, "cudaStreamCreateWithFlags"));
  dlclose(library);  // the program keeps it
  TORCH_CHECK(create != nullptr, "the CUDA runtime has no cudaStreamCreateWithFlags");
  const c10::Device was = cuda().exchangeDevice(device);
  void* stream = nullptr;
  const int error = create(&stream, kNonBlocking);
  cuda().setDevice(was);
  TORCH_CHECK(error == 0, "cudaStreamCreateWithFlags: error ", error);
  return c10::Stream(c10::Stream::UNSAFE, device, static_cast<c10::StreamId>(reinterpret_cast<intptr_t>(stream)));
}

struct Copies {
  explicit Copies(c10::Device device) : stream(new_stream(device)) {}
  const c10::Stream stream;
  versions::ReadAhead read_ahead;
};

constexpr size_t kMostDevices = 64;
std::array<std::atomic<Copies*>, kMostDevices> g_copies{};

Copies* known_copies(c10::Device device) {
  const auto index = static_cast<size_t>(device.index());
  return index < kMostDevices ? g_copies[index].load(std::memory_order_acquire) : nullptr;
}

Copies& copies_of(c10::Device device) {
  if (Copies* known = known_copies(device)) return *known;
  TORCH_CHECK(static_cast<size_t>(device.index()) < kMostDevices, "more than ", kMostDevices, " devices");
  static auto* lock = new base::Mutex;
  const base::MutexLock guard(*lock);
  if (Copies* known = known_copies(device)) return *known;
  auto* made = new Copies(device);
  g_copies[static_cast<size_t>(device.index())].store(made, std::memory_order_release);
  return *made;
}

c10::Event event_on(const c10::Stream& stream) {
  c10::Event event(c10::DeviceType::CUDA);
  event.record(stream);
  return event;
}

at::Tensor bytes_of(const c10::Storage& storage) {
  Geometry geometry;
  geometry.device = storage.device();
  geometry.dtype = caffe2::TypeMeta::Make<uint8_t>();
  return geometry.flat(storage, at::kByte, static_cast<int64_t>(storage.nbytes()));
}

// ---- one storage

// Locks: its own is a leaf, except for those of the device's allocator.
class HostCopy final : public versions::Offloaded,
                       public versions::Away,
                       public std::enable_shared_from_this<HostCopy> {
 public:
  HostCopy(Copies& copies, c10::Stream maker, uint64_t order, uint64_t bytes)
      : copies_(copies), maker_(maker), order_(order), bytes_(bytes) {}
  HostCopy(const HostCopy&) = delete;
  HostCopy& operator=(const HostCopy&) = delete;
  ~HostCopy() override;

  // Returns the reason for the user if the host has no memory for it; null: the copy has begun.
  const char* begin_copy(const c10::Storage& storage);
  void end_copy() override;
  versions::ValuesPtr fetch() override;
  void fetch_ahead() noexcept override;
  void drop_ahead() noexcept override;

 private:
  // Calls copy(device's bytes, host's bytes) for each block, on this thread's stream.
  template <class Copy>
  void each_block(const c10::Storage& storage, Copy copy) const;
  void copy_back(const c10::Storage& storage) const {
    each_block(storage, [](const at::Tensor& here, const at::Tensor& host) { here.copy_(host, true); });
  }

  struct Returned {
    c10::Storage storage;
    c10::Event copied;
  };

  Copies& copies_;
  const c10::Stream maker_;
  const uint64_t order_, bytes_;
  Share share_;
  std::vector<at::Tensor> blocks_;  // pinned, in the order of the storage's bytes
  std::optional<c10::Event> copied_;
  bool is_away_ = false;  // since end_copy()
  base::Mutex lock_;
  std::optional<Returned> returned_ TAPELENS_GUARDED_BY(lock_);  // ahead of the backward
};

Attempted offload_of(uint64_t bytes) { return {offloading()->id, offloading()->level, {}, bytes}; }

template <class Copy>
void HostCopy::each_block(const c10::Storage& storage, Copy copy) const {
  const Alone alone;
  const at::Tensor all = bytes_of(storage);
  int64_t at = 0;
  for (const at::Tensor& block : blocks_) {
    const int64_t some = std::min(block.numel(), all.numel() - at);
    copy(all.narrow(0, at, some), block.narrow(0, 0, some));
    at += some;
  }
}

const char* HostCopy::begin_copy(const c10::Storage& storage) {
  const std::vector<uint64_t> sizes = versions::pinned_blocks(bytes_);
  uint64_t all = 0;
  for (const uint64_t size : sizes) all += size;
  if (!share_.take(all)) return "the memory of the host for it is full";
  try {
    const Alone alone;
    for (const uint64_t size : sizes)
      blocks_.push_back(at::empty({static_cast<int64_t>(size)}, at::TensorOptions(at::kByte).pinned_memory(true)));
  } catch (const c10::Error&) {
    host_memory().is_full();
    return "the system has no more pinned memory";
  }
  event_on(maker_).block(copies_.stream);
  const streams::On here(copies_.stream);
  // From here on the copies may run: the destructor waits for them.
  struct Recorded {
    HostCopy& copy;
    ~Recorded() {
      attempt(offload_of(copy.bytes_), [&] { copy.copied_.emplace(event_on(copy.copies_.stream)); });
    }
  } const recorded{*this};
  each_block(storage, [](const at::Tensor& device, const at::Tensor& host) { host.copy_(device, true); });
  return nullptr;
}

void HostCopy::end_copy() {
  TORCH_CHECK(copied_, "the end of the copy is unknown");
  copied_->block(maker_);
  copies_.read_ahead.add(order_, weak_from_this());
  is_away_ = true;
}

versions::ValuesPtr HostCopy::fetch() {
  const Quiet quiet;
  const streams::On its(maker_);
  // A captured graph reads the pinned memory at each replay, and may not wait for an event from before the capture.
  if (!streams::is_capturing(maker_.device())) {
    const base::MutexLock guard(lock_);
    if (returned_) {
      returned_->copied.block(maker_);
      auto values = std::make_shared<StorageValues>(std::move(returned_->storage));
      returned_.reset();
      return values;
    }
  }
  auto values = std::make_shared<StorageValues>(new_storage(maker_.device(), bytes_));
  copy_back(values->memory().storage());
  return values;
}

void HostCopy::fetch_ahead() noexcept {
  attempt(offload_of(bytes_), [&] {
    const Quiet quiet;
    if (streams::is_capturing(maker_.device())) return;
    const base::MutexLock guard(lock_);
    if (returned_) return;
    try {
      c10::Storage storage;
      {
        const streams::On its(maker_);
        storage = new_storage(maker_.device(), bytes_);
      }
      event_on(maker_).block(copies_.stream);  // its memory may be in use until then
      const streams::On here(copies_.stream);
      copy_back(storage);
      returned_.emplace(Returned{std::move(storage), event_on(copies_.stream)});
    } catch (const c10::OutOfMemoryError&) {  // fetch() tries again when the backward needs it
    }
  });
}

void HostCopy::drop_ahead() noexcept {
  attempt(offload_of(bytes_), [&] {
    const base::MutexLock guard(lock_);
    if (!returned_ || streams::is_capturing(maker_.device())) return;
    returned_->copied.block(maker_);
    returned_.reset();
  });
}

HostCopy::~HostCopy() {
  if (is_away_) copies_.read_ahead.remove(order_);
  std::optional<Returned> returned;
  {
    const base::MutexLock guard(lock_);
    std::swap(returned, returned_);
  }
  if (observe::mode() == observe::Mode::off) {  // a forked child cannot use CUDA: nothing may be freed there
    (void)new std::vector<at::Tensor>(std::move(blocks_));
    if (copied_) (void)new c10::Event(std::move(*copied_));
    if (returned) (void)new Returned(std::move(*returned));
    return;
  }
  attempt(offload_of(bytes_), [&] {
    if (!is_away_ && copied_) copied_->block(maker_);  // the storage is freed next
    if (returned) returned->copied.block(maker_);
  });
}

}  // namespace

std::shared_ptr<versions::Offloaded> copy_to_host(const c10::Storage& storage, c10::Stream maker, uint64_t order,
                                                  const char*& reason) {
  const Quiet quiet;
  auto copy = std::make_shared<HostCopy>(copies_of(storage.device()), maker, order, storage.nbytes());
  reason = copy->begin_copy(storage);
  return reason == nullptr ? std::move(copy) : nullptr;
}

void read_ahead(c10::Device device, uint64_t order) {
  if (Copies* copies = known_copies(device)) copies->read_ahead.read(order);
}

uint64_t next_order() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace tapelens::rewrite
