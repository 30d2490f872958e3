// The CUDA runtime: streams and events. Work on a stream is complete when the call returns.
#include <cstdlib>

#include "simulated/device/state.h"
#include "simulated/device/streams.h"

using namespace tapelens::simulated;

TAPELENS_CUDA int cudaStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  if (device_count() == 0) return failed(kNoDevice);
  *stream = make_stream(flags, priority);
  return kSuccess;
}

TAPELENS_CUDA int cudaStreamCreateWithFlags(void** stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

TAPELENS_CUDA int cudaStreamCreate(void** stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }

TAPELENS_CUDA int cudaStreamDestroy(void* stream) {
  if (reinterpret_cast<uintptr_t>(stream) <= 2) return failed(kInvalidHandle);
  end_stream(static_cast<Stream*>(stream));
  return kSuccess;
}

TAPELENS_CUDA int cudaStreamGetPriority(void* stream, int* priority) {
  *priority = stream_of(stream)->priority;
  return kSuccess;
}

TAPELENS_CUDA int cudaStreamGetFlags(void* stream, unsigned* flags) {
  *flags = stream_of(stream)->flags;
  return kSuccess;
}

TAPELENS_CUDA int cudaStreamGetId(void* stream, unsigned long long* id) {
  *id = stream_of(stream)->id;
  return kSuccess;
}

TAPELENS_CUDA int cudaStreamGetDevice(void* stream, int* device) {
  *device = stream_of(stream)->device;
  return kSuccess;
}

TAPELENS_CUDA int cudaStreamQuery(void* stream) {
  return is_capturing(stream_of(stream)) ? failed(kCaptureUnsupported) : kSuccess;
}

TAPELENS_CUDA int cudaStreamSynchronize(void* stream) { return cudaStreamQuery(stream); }

TAPELENS_CUDA int cudaDeviceSynchronize() {
  if (device_count() == 0) return failed(kNoDevice);
  begin_context(current_device());
  return kSuccess;
}

TAPELENS_CUDA int cudaStreamWaitEvent(void* stream, void* event, unsigned) {
  wait(stream_of(stream), static_cast<Event*>(event));
  return kSuccess;
}

TAPELENS_CUDA int cudaStreamAddCallback(void* stream, void (*callback)(void*, int, void*), void* what, unsigned) {
  if (is_capturing(stream_of(stream))) return failed(kCaptureUnsupported);
  callback(stream, kSuccess, what);
  return kSuccess;
}

// In a graph it is a node, which no launch executes.
TAPELENS_CUDA int cudaLaunchHostFunc(void* stream, void (*function)(void*), void* what) {
  if (is_capturing(stream_of(stream))) {
    count_node(stream);
  } else {
    function(what);
  }
  return kSuccess;
}

TAPELENS_CUDA int cudaEventCreateWithFlags(void** event, unsigned) {
  if (device_count() == 0) return failed(kNoDevice);
  auto* made = make_handle<Event>();
  made->device = current_device();
  begin_context(made->device);
  *event = made;
  return kSuccess;
}

TAPELENS_CUDA int cudaEventCreate(void** event) { return cudaEventCreateWithFlags(event, 0); }

TAPELENS_CUDA int cudaEventDestroy(void* event) {
  free(event);
  return kSuccess;
}

TAPELENS_CUDA int cudaEventRecordWithFlags(void* event, void* stream, unsigned) {
  record(static_cast<Event*>(event), stream_of(stream));
  return kSuccess;
}

TAPELENS_CUDA int cudaEventRecord(void* event, void* stream) { return cudaEventRecordWithFlags(event, stream, 0); }
TAPELENS_CUDA int cudaEventQuery(void*) { return kSuccess; }
TAPELENS_CUDA int cudaEventSynchronize(void*) { return kSuccess; }

// One millisecond per launch, on any stream. By the host's clock kernels would be so fast that Triton's autotuning
// repeats them about ten thousand times, and its choice would be random.
TAPELENS_CUDA int cudaEventElapsedTime(float* milliseconds, void* from, void* to) {
  const auto *begin = static_cast<Event*>(from), *end = static_cast<Event*>(to);
  constexpr float kLeast = 0.001F;  // some programs divide by it
  if (!begin->recorded || !end->recorded) return failed(kInvalidHandle);
  *milliseconds = static_cast<float>(static_cast<int64_t>(end->launches - begin->launches)) + kLeast;
  return kSuccess;
}

TAPELENS_CUDA int cudaEventElapsedTime_v2(float* milliseconds, void* from, void* to) {
  return cudaEventElapsedTime(milliseconds, from, to);
}
