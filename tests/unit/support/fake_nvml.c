/* Stands in for NVIDIA's management library: two H100s and an L4, or nothing at all with FAKE_NVML=none. */
#include <stdlib.h>
#include <string.h>

struct memory {
  unsigned long long total, free, used;
};

static const char* const names[] = {"NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3", "NVIDIA L4"};
static const char* const uuids[] = {"GPU-aaaa0000", "GPU-bbbb0001", "GPU-bbbb0002"};
static const unsigned long long mebibytes[] = {81559, 81559, 23034}, used[] = {551, 4551, 434};

static unsigned index_of(void* handle) { return (unsigned)(size_t)handle - 1; }

int nvmlInit_v2(void) {
  const char* how = getenv("FAKE_NVML");
  return how != NULL && strcmp(how, "none") == 0 ? 9 : 0; /* no driver */
}
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 3;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  *handle = (void*)(size_t)(index + 1);
  return 0;
}
int nvmlDeviceGetName(void* handle, char* to, unsigned room) {
  strncpy(to, names[index_of(handle)], room);
  return 0;
}
int nvmlDeviceGetUUID(void* handle, char* to, unsigned room) {
  strncpy(to, uuids[index_of(handle)], room);
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* handle, struct memory* memory) {
  const unsigned index = index_of(handle);
  memory->total = mebibytes[index] << 20;
  memory->used = used[index] << 20;
  memory->free = memory->total - memory->used;
  return 0;
}
int nvmlDeviceGetMigMode(void* handle, unsigned* current, unsigned* pending) {
  const char* how = getenv("FAKE_NVML");
  *current = *pending = how != NULL && strcmp(how, "divided") == 0 && index_of(handle) == 2;
  return 0;
}
