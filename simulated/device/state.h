// What all of the device's functions share: the settings of the run, the GPU that a thread works on, its last error.
// Everything here may be called by any thread at any time.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

#include "simulated/settings/settings.h"

// A function of CUDA's libraries: C linkage, seen by the loader. Its parameters are CUDA's, enumerations as int.
#define TAPELENS_CUDA extern "C" __attribute__((visibility("default")))

namespace tapelens::simulated {

// Of the runtime and of the driver, which agree on these (cudaError, CUresult).
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

const Settings& settings();

// GPUs that this process sees: of the run's, those that CUDA_VISIBLE_DEVICES leaves.
int device_count();
inline bool is_device(int device) { return device >= 0 && device < device_count(); }
// Which of the machine's GPUs it is: for what tells of the machine (PCI, UUID, NVML).
int ordinal_of(int device);

// Of the calling thread.
int current_device();
int use_device(int device);  // kInvalidDevice if there is none
// A GPU has a context from its first use on.
void begin_context(int device);
bool has_context(int device);
void* context_of(int device);  // the driver's handle of it: its primary context, and there is no other

// Remembers an error for cudaGetLastError(), and answers it.
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

// Zeroed memory for a handle; ends the process if there is none, as a driver would.
void* handle_memory(size_t bytes);
template <class T>
T* make_handle() {
  return static_cast<T*>(handle_memory(sizeof(T)));
}

// One line on standard error, at most once for each `said`.
void say_once(bool& said, const char* line);

// For what the program asked for and cannot have: says so, and answers kNotSupported, of which PyTorch's message says
// no more.
enum class Unsupported : uint8_t { shared_memory, graph_branches };
int unsupported(Unsupported what);

}  // namespace tapelens::simulated
