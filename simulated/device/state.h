// Shared by all of the device's functions: the settings of the run, a thread's current GPU, its last error. Any thread
// may call any function at any time.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

#include "simulated/settings/settings.h"

// A function of CUDA's libraries: C linkage, visible to the loader. Parameters are those of CUDA, with enumerations as
// int.
#define TAPELENS_CUDA extern "C" __attribute__((visibility("default")))

namespace tapelens::simulated {

// Errors with the same number in the runtime and the driver (cudaError, CUresult).
enum Error : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidHandle = 400,
  kNotFound = 500,
  kPeerAlreadyEnabled = 704,
  kPeerNotEnabled = 705,
  kNotSupported = 801,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
};

constexpr int kMostDevices = 64;

const GpuSettings& settings();

// Number of GPUs that this process sees: those of the run that CUDA_VISIBLE_DEVICES allows.
int device_count();
inline bool is_device(int device) { return device >= 0 && device < device_count(); }
// Index among the machine's GPUs, for machine-wide properties (PCI, UUID, NVML).
int ordinal_of(int device);

// For the calling thread.
int current_device();
int use_device(int device);  // kInvalidDevice if it does not exist
// A GPU has a context from its first use on.
void begin_context(int device);
bool has_context(int device);
void* context_of(int device);  // the driver's handle of its primary context, which is its only one

// Stores an error for cudaGetLastError(), and returns it.
int failed(int error);
int take_last_error();
int last_error();

class Lock {
 public:
  explicit Lock(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  ~Lock() { pthread_mutex_unlock(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

// Zeroed memory for a handle; ends the process if memory runs out, as a driver does.
void* handle_memory(size_t bytes);
template <class T>
T* make_handle() {
  return static_cast<T*>(handle_memory(sizeof(T)));
}

// Prints one line to standard error, at most once for each `said`.
void say_once(bool& said, const char* line);

// For unsupported requests of the program: prints the reason, and returns kNotSupported, for which PyTorch's message
// gives no reason.
enum class Unsupported : uint8_t { shared_memory, graph_branches };
int unsupported(Unsupported what);

}  // namespace tapelens::simulated
