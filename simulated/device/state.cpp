#include "simulated/device/state.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tapelens::simulated {
namespace {

struct Process {
  GpuSettings settings;
  int count = 0;
  int ordinals[kMostDevices] = {};
};

pthread_once_t g_begun = PTHREAD_ONCE_INIT;
Process g_process;
bool g_contexts[kMostDevices];
thread_local int t_device = 0;
thread_local int t_error = kSuccess;

// As in CUDA: a list of ordinals or UUIDs, up to the first invalid one; an empty list hides all GPUs.
void see_devices(Process& process, const char* visible) {
  const int all = static_cast<int>(process.settings.count);
  if (visible == nullptr) {
    for (int i = 0; i < all; ++i) process.ordinals[process.count++] = i;
    return;
  }
  while (*visible != '\0' && process.count < kMostDevices) {
    while (*visible == ' ' || *visible == ',') ++visible;
    int ordinal = -1;
    char* end = nullptr;
    if (std::strncmp(visible, "GPU-", 4) == 0) {
      // The device's UUIDs: the last digits are the ordinal.
      const char* stop = std::strchr(visible, ',');
      const size_t length = stop != nullptr ? static_cast<size_t>(stop - visible) : std::strlen(visible);
      end = const_cast<char*>(visible) + length;
      if (length >= 12) ordinal = static_cast<int>(std::strtol(visible + length - 2, nullptr, 16));
    } else {
      ordinal = static_cast<int>(std::strtol(visible, &end, 10));
      if (end == visible) break;
    }
    if (ordinal < 0 || ordinal >= all) break;
    process.ordinals[process.count++] = ordinal;
    visible = end;
  }
}

void begin() {
  const char* text = std::getenv(kSettingsVariable);
  if (text == nullptr || !read(text, g_process.settings) || g_process.settings.count > kMostDevices) {
    g_process.settings.count = 0;  // loaded without `tapelens`: no GPUs
  }
  see_devices(g_process, std::getenv("CUDA_VISIBLE_DEVICES"));
}

const Process& process() {
  pthread_once(&g_begun, begin);
  return g_process;
}

}  // namespace

const GpuSettings& settings() { return process().settings; }
int device_count() { return process().count; }
int ordinal_of(int device) { return process().ordinals[device]; }

int current_device() { return t_device; }

int use_device(int device) {
  if (!is_device(device)) return kInvalidDevice;
  t_device = device;
  begin_context(device);
  return kSuccess;
}

void begin_context(int device) { __atomic_store_n(&g_contexts[device], true, __ATOMIC_RELAXED); }
bool has_context(int device) { return is_device(device) && __atomic_load_n(&g_contexts[device], __ATOMIC_RELAXED); }

void* context_of(int device) { return &g_contexts[device]; }

int failed(int error) {
  if (error != kSuccess) t_error = error;
  return error;
}

int take_last_error() {
  const int error = t_error;
  t_error = kSuccess;
  return error;
}

int last_error() { return t_error; }

void* handle_memory(size_t bytes) {
  void* memory = std::calloc(1, bytes);
  if (memory == nullptr) abort();
  return memory;
}

void say_once(bool& said, const char* line) {
  if (__atomic_exchange_n(&said, true, __ATOMIC_RELAXED)) return;
  char text[512];
  const int length = std::snprintf(text, sizeof(text), "tapelens: %s\n", line);
  if (length > 0 && ::write(STDERR_FILENO, text, static_cast<size_t>(length)) < 0) return;
}

int unsupported(Unsupported what) {
  static bool said[2];
  constexpr const char* kLines[2] = {
      "the memory of a simulated GPU cannot be shared with another process: to the program that is CUDA's \"operation "
      "not "
      "supported\"",
      "branches and loops inside a CUDA graph cannot be simulated: to the program that is CUDA's \"operation not "
      "supported\"",
  };
  say_once(said[static_cast<int>(what)], kLines[static_cast<int>(what)]);
  return kNotSupported;
}

}  // namespace tapelens::simulated
