// cuDNN's graph interface: descriptors store the attributes that were set. Every graph has one engine and a plan that
// does nothing.
#include <cstdlib>
#include <cstring>

#include "simulated/device/dnn.h"

using namespace tapelens::simulated;

namespace {

// cudnnBackendAttributeName_t
enum Attribute : int {
  kHeuristicResults = 202,
  kConfigEngine = 300,
  kConfigWorkspace = 303,
  kConfigSharedMemory = 304,
  kPlanConfig = 401,
  kPlanWorkspace = 402,
  kGraphEngineCount = 802,
  kEngineIndex = 1301,
};

// The stored value of an attribute, for later reads.
struct Value {
  int attribute, type;
  int64_t count;
  size_t bytes;
  Value* next;
  char data[8];  // and more
};

struct Descriptor {
  int type;
  Value* values;
};

// Bytes of cudnnBackendAttributeType_t: pointers, 64-bit numbers, or enumerations and similar types.
size_t width(int type) {
  switch (type) {
    case 0:   // handle
    case 3:   // int64
    case 5:   // double
    case 6:   // pointer
    case 15:  // descriptor
    case 26:
      return 8;  // two of int64, see below
    case 2:
    case 24:
      return 1;
    default:
      return 4;
  }
}

size_t bytes_of(int type, int64_t count) { return width(type) * static_cast<size_t>(count) * (type == 26 ? 2 : 1); }

const Value* find(const Descriptor* of, int attribute) {
  const Value* value = of->values;
  while (value != nullptr && value->attribute != attribute) value = value->next;
  return value;
}

int put_number(int64_t number, int64_t wanted, int64_t* got, void* to) {
  if (got != nullptr) *got = 1;
  if (wanted > 0 && to != nullptr) std::memcpy(to, &number, sizeof(number));
  return kDnnSuccess;
}

}  // namespace

TAPELENS_CUDA int cudnnBackendCreateDescriptor(int type, void** to) {
  auto* made = make_handle<Descriptor>();
  made->type = type;
  *to = made;
  return kDnnSuccess;
}

TAPELENS_CUDA int cudnnBackendDestroyDescriptor(void* what) {
  auto* descriptor = static_cast<Descriptor*>(what);
  if (descriptor == nullptr) return kDnnSuccess;
  while (Value* value = descriptor->values) {
    descriptor->values = value->next;
    free(value);
  }
  free(descriptor);
  return kDnnSuccess;
}

TAPELENS_CUDA int cudnnBackendFinalize(void*) { return kDnnSuccess; }
TAPELENS_CUDA int cudnnBackendExecute(void*, void*, void*) { return kDnnSuccess; }

TAPELENS_CUDA int cudnnBackendSetAttribute(void* of, int attribute, int type, int64_t count, const void* from) {
  auto* descriptor = static_cast<Descriptor*>(of);
  if (count < 0 || (count > 0 && from == nullptr)) return kDnnBadParameter;
  for (Value** at = &descriptor->values; *at != nullptr; at = &(*at)->next) {
    if ((*at)->attribute != attribute) continue;
    Value* old = *at;
    *at = old->next;
    free(old);
    break;
  }
  const size_t bytes = bytes_of(type, count);
  auto* value = static_cast<Value*>(handle_memory(sizeof(Value) + bytes));
  value->attribute = attribute;
  value->type = type;
  value->count = count;
  value->bytes = bytes;
  if (bytes > 0) std::memcpy(value->data, from, bytes);
  value->next = descriptor->values;
  descriptor->values = value;
  return kDnnSuccess;
}

TAPELENS_CUDA int cudnnBackendGetAttribute(const void* of, int attribute, int type, int64_t wanted, int64_t* got,
                                           void* to) {
  switch (attribute) {
    case kHeuristicResults:  // the caller provides descriptors to fill
    case kConfigEngine:
    case kPlanConfig:
      if (got != nullptr) *got = 1;
      return kDnnSuccess;
    case kGraphEngineCount:
      return put_number(1, wanted, got, to);
    case kConfigSharedMemory:  // int32
      if (got != nullptr) *got = 1;
      if (to != nullptr) std::memset(to, 0, 4);
      return kDnnSuccess;
    case kEngineIndex:
      return put_number(0, wanted, got, to);
    case kConfigWorkspace:
    case kPlanWorkspace:
      return put_number(static_cast<int64_t>(dnn_workspace()), wanted, got, to);
    default:
      break;
  }
  const Value* value = find(static_cast<const Descriptor*>(of), attribute);
  if (got != nullptr) *got = value != nullptr ? value->count : 0;
  if (value == nullptr || to == nullptr || value->type != type) return kDnnSuccess;
  const size_t room = bytes_of(type, wanted);
  std::memcpy(to, value->data, room < value->bytes ? room : value->bytes);
  return kDnnSuccess;
}
