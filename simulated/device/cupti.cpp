// CUPTI: it observes nothing, since nothing runs on the device. torch.profiler goes on without times of kernels.
#include "simulated/device/state.h"

using namespace tapelens::simulated;

TAPELENS_CUDA int cuptiGetVersion(unsigned* version) {
  *version = static_cast<unsigned>(settings().cuda / 1000 * 10000 + settings().cuda % 1000 / 10 * 100);
  return 0;
}

TAPELENS_CUDA int cuptiGetResultString(int result, const char** text) {
  *text = result == 0 ? "CUPTI_SUCCESS" : "CUPTI_ERROR_UNKNOWN";
  return 0;
}

TAPELENS_CUDA int cuptiGetCallbackName(int, unsigned, const char** name) {
  *name = "";
  return 0;
}

TAPELENS_CUDA int cuptiSubscribe(void** subscriber, void*, void*) {
  *subscriber = handle_memory(16);
  return 0;
}

TAPELENS_CUDA int cuptiActivityGetNextRecord(unsigned char*, size_t, void**) {
  return 12;  // CUPTI_ERROR_MAX_LIMIT_REACHED: there are no more
}

TAPELENS_CUDA int cuptiActivityGetNumDroppedRecords(void*, unsigned, size_t* dropped) {
  *dropped = 0;
  return 0;
}

TAPELENS_CUDA int cuptiGetTimestamp(uint64_t* ns) {
  *ns = 0;
  return 0;
}
