// The streams of CUDA, as rewrites have to know them. Asked through LibTorch's interface to devices: nothing of CUDA is
// linked.
//
// A rewrite frees a tensor's memory before the program would, and writes other memory on the way. That is right on the
// stream on which the tensor was made, where the memory is used in the order of the calls. So each storage has its
// stream: the one on which an operator made it. What an operator of another stream touches is left alone from then on,
// and so is whatever an operator touches while a graph is captured: a replay does it again, and tells nobody.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Stream.h>

#include <optional>

namespace tapelens::rewrite::streams {

inline bool has_streams(c10::Device device) { return device.is_cuda(); }

// That this thread's operators on the device are given to. None: the CPU.
std::optional<c10::Stream> current(c10::Device device);
// Whether what this thread gives to the device now is recorded for a graph instead of being done.
bool is_capturing(c10::Device device);

// What a thread's operators are given to, of all devices in use.
enum class Moment : uint8_t {
  ordinary,      // the one stream that each device was ever seen with
  several,       // a device has more than one
  is_capturing,  // some device's is recorded for a graph
};
Moment moment();
// An operator made these: the stream on which a device is first seen is the one of all that is not known otherwise.
void outputs_made(c10::ArrayRef<c10::IValue> outputs);
// Of a storage of which nothing else is known.
std::optional<c10::Stream> first(c10::Device device);

// Memory of a device with the stream that has made it. On another stream it may be used when that one has done what it
// was given so far. Where a graph is captured nothing is waited for: to begin a capture the program has.
class Memory {
 public:
  explicit Memory(c10::Storage storage) : Memory(storage, current(storage.device())) {}
  Memory(c10::Storage storage, std::optional<c10::Stream> stream) : storage_(std::move(storage)), stream_(stream) {}
  const c10::Storage& storage() const { return storage_; }
  // For the operators that this thread runs next.
  const c10::Storage& here() const;

 private:
  c10::Storage storage_;
  std::optional<c10::Stream> stream_;
};

// While it lives, this thread's operators are given to that stream.
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
