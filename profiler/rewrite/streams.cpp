#include "profiler/rewrite/streams.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <bit>

#include "profiler/observe/torch_minor.h"

namespace tapelens::rewrite::streams {
namespace {

constexpr size_t kDevices = 64;
constexpr c10::StreamId kLegacy = 0;  // CUDA's default stream, which cannot be captured

std::atomic<uint64_t> g_devices{0};  // bit i: an operator has made a tensor on device i
std::array<std::atomic<c10::StreamId>, kDevices> g_first{};
std::atomic<bool> g_several{false};

c10::impl::VirtualGuardImpl cuda() { return c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA); }

c10::Device cuda_device(size_t index) { return {c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index)}; }

// A function of LibTorch's CUDA library, or of the CUDA runtime that it is linked with.
void* cuda_function(const char* name) {
  void* const c10_cuda = dlopen("libc10_cuda.so", RTLD_NOLOAD | RTLD_LAZY);
  if (c10_cuda == nullptr) return nullptr;
  void* const found = dlsym(c10_cuda, name);
  dlclose(c10_cuda);  // the program keeps it
  return found;
}

// The CUDA runtime's stream. Empty if it is not known.
std::optional<void*> native_stream(const c10::Stream& stream) {
#if TAPELENS_GUARDS_GIVE_NATIVE_STREAMS
  return cuda().getStreamNativeHandle(stream);
#else
  // CUDAStream::stream(). The only member of that class is the c10::Stream.
  using Native = void* (*)(const c10::Stream*);
  static const auto native = reinterpret_cast<Native>(cuda_function("_ZNK3c104cuda10CUDAStream6streamEv"));
  return native != nullptr ? std::optional(native(&stream)) : std::nullopt;
#endif
}

// LibTorch's device interface cannot tell before 2.15.
bool is_captured(const c10::Stream& stream) {
  using Asked = int (*)(void* stream, int* status);
  static const auto asked = reinterpret_cast<Asked>(cuda_function("cudaStreamIsCapturing"));
  const auto native = native_stream(stream);
  int status = 0;
  return asked == nullptr || !native || asked(*native, &status) != 0 || status != 0;
}

bool is_captured_now(size_t device) {
  const c10::Stream stream = cuda().getStream(cuda_device(device));
  return stream.id() != kLegacy && is_captured(stream);
}

void made(const at::Tensor& tensor) {
  if (!tensor.defined() || !has_streams(tensor.device())) return;
  const auto device = static_cast<size_t>(tensor.device().index());
  if (device >= kDevices || (g_devices.load(std::memory_order_relaxed) >> device & 1) != 0) return;
  g_first[device].store(cuda().getStream(tensor.device()).id(), std::memory_order_relaxed);
  g_devices.fetch_or(uint64_t{1} << device, std::memory_order_release);
}

}  // namespace

std::optional<c10::Stream> current(c10::Device device) {
  return has_streams(device) ? std::optional(cuda().getStream(device)) : std::nullopt;
}

bool is_capturing(c10::Device device) {
  return has_streams(device) && is_captured_now(static_cast<size_t>(device.index()));
}

StreamUse stream_use() {
  uint64_t devices = g_devices.load(std::memory_order_acquire);
  bool is_captured_somewhere = false;
  for (; devices != 0; devices &= devices - 1) {
    const auto device = static_cast<size_t>(std::countr_zero(devices));
    const c10::Stream stream = cuda().getStream(cuda_device(device));
    if (stream.id() != g_first[device].load(std::memory_order_relaxed))
      g_several.store(true, std::memory_order_relaxed);
    if (stream.id() != kLegacy) is_captured_somewhere |= is_captured(stream);
  }
  if (is_captured_somewhere) return StreamUse::is_capturing;
  return g_several.load(std::memory_order_relaxed) ? StreamUse::several : StreamUse::ordinary;
}

void outputs_made(c10::ArrayRef<c10::IValue> outputs) {
  for (const c10::IValue& output : outputs) {
    if (output.isTensor()) {
      made(output.toTensor());
    } else if (output.isTensorList()) {
      for (const c10::IValue& element : output.toListRef()) made(element.toTensor());
    }
  }
}

std::optional<c10::Stream> first(c10::Device device) {
  if (!has_streams(device)) return std::nullopt;
  const auto index = static_cast<size_t>(device.index());
  if (index >= kDevices || (g_devices.load(std::memory_order_acquire) >> index & 1) == 0) return current(device);
  return c10::Stream(c10::Stream::UNSAFE, device, g_first[index].load(std::memory_order_relaxed));
}

const c10::Storage& Memory::here() const {
  if (!stream_) return storage_;
  const auto now = *current(storage_.device());
  if (now == *stream_ || is_captured_now(static_cast<size_t>(now.device_index()))) return storage_;
  const c10::impl::VirtualGuardImpl impl = cuda();
  void* event = nullptr;
  impl.record(&event, *stream_, stream_->device_index(), c10::EventFlag::PYTORCH_DEFAULT);
  impl.block(event, now);
  impl.destroyEvent(event, stream_->device_index());
  impl.recordDataPtrOnStream(storage_.data_ptr(), now);
  return storage_;
}

On::On(const std::optional<c10::Stream>& stream) {
  if (!stream || cuda().getStream(stream->device()) == *stream || is_capturing(stream->device())) return;
  was_ = cuda().exchangeStream(*stream);
}

On::~On() {
  if (was_) cuda().exchangeStream(*was_);
}

}  // namespace tapelens::rewrite::streams
