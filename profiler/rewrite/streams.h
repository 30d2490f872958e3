// CUDA streams, as rewrites need to know them, through LibTorch's device interface: nothing of CUDA is linked.
//
// A rewrite frees a tensor's memory before the program would, and writes other memory in between. That is correct on
// the stream on which the tensor was made, which uses memory in the order of the calls. So each storage has a stream:
// that of the operator that made it. A storage that an operator of another stream touches is left alone from then on.
// So is every storage that an operator touches during the capture of a graph: a replay repeats the access without a
// notification.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Stream.h>

#include <optional>

#include "profiler/rewrite/rewrite.h"

namespace tapelens::rewrite::streams {

inline bool has_streams(c10::Device device) { return !device.is_cpu() && is_cpu_or_has_streams(device.type()); }

// The stream of this thread's operators on the device. None: the CPU.
std::optional<c10::Stream> current(c10::Device device);
// Whether a graph captures this thread's work for the device instead of running it.
bool is_capturing(c10::Device device);

// The state of the thread's streams, over all devices in use.
enum class StreamUse : uint8_t {
  ordinary,      // each device has only ever been seen with one stream
  several,       // a device has more than one
  is_capturing,  // a device's stream is being captured for a graph
};
StreamUse stream_use();
// An operator made these tensors. The first stream seen on a device is the default for storages of unknown streams.
void outputs_made(c10::ArrayRef<c10::IValue> outputs);
// The stream for a storage of unknown origin.
std::optional<c10::Stream> first(c10::Device device);

// Memory of a device with the stream that made it. Another stream may use it after that stream's work so far is done.
// During a capture it does not wait: the program had to wait to begin the capture.
class Memory {
 public:
  explicit Memory(c10::Storage storage) : Memory(storage, current(storage.device())) {}
  Memory(c10::Storage storage, std::optional<c10::Stream> stream) : storage_(std::move(storage)), stream_(stream) {}
  const c10::Storage& storage() const { return storage_; }
  // The storage, for the operators that this thread runs next.
  const c10::Storage& here() const;

 private:
  c10::Storage storage_;
  std::optional<c10::Stream> stream_;
};

// While it lives, this thread's operators run on that stream.
class On {
 public:
  explicit On(const std::optional<c10::Stream>& stream);
  ~On();
  On(const On&) = delete;
  On& operator=(const On&) = delete;

 private:
  std::optional<c10::Stream> was_;
};

}  // namespace tapelens::rewrite::streams
