// cuDNN's graph interface: descriptors store the attributes that were set. Every graph has two engines, whose plans
// do nothing. The size of a plan's workspace is that of its graph: descriptors hand it on to those that refer to
// them.
#include <cstdlib>
#include <cstring>

#include "simulated/convolutions/workspace.h"
#include "simulated/device/dnn.h"

using namespace tapelens::simulated;

namespace {

// cudnnBackendAttributeName_t
enum Attribute : int {
  kFilterStrides = 103,
  kPrePaddings = 105,
  kHeuristicResults = 202,
  kConfigEngine = 300,
  kConfigWorkspace = 303,
  kConfigSharedMemory = 304,
  kPlanConfig = 401,
  kPlanWorkspace = 402,
  kGraphOperations = 801,
  kGraphEngineCount = 802,
  kTensorType = 901,
  kTensorDimensions = 902,
  kTensorStrides = 903,
  kEngineIndex = 1301,
};

constexpr int kBackendDescriptor = 15;  // CUDNN_TYPE_BACKEND_DESCRIPTOR
constexpr int kOperationMatmul = 19;    // CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR

// The operations that convolve: their cudnnBackendDescriptorType_t, and the attributes of their descriptors.
struct ConvolutionKind {
  int type;
  Pass pass;
  int convolution, filter, input, output;
};
constexpr ConvolutionKind kConvolutions[] = {
    {10, Pass::forward, 702, 703, 704, 705},
    {11, Pass::filter, 714, 715, 716, 717},
    {12, Pass::data, 708, 709, 710, 711},
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
  uint64_t workspace;  // bytes, for the graph that it refers to, directly or by other descriptors
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

const Descriptor* descriptor_at(const Value& value, int64_t place) {
  const void* at = nullptr;
  std::memcpy(&at, value.data + static_cast<size_t>(place) * sizeof(at), sizeof(at));
  return static_cast<const Descriptor*>(at);
}

const Descriptor* referred(const Descriptor* of, int attribute) {
  const Value* value = find(of, attribute);
  if (value == nullptr || value->type != kBackendDescriptor || value->count < 1) return nullptr;
  return descriptor_at(*value, 0);
}

// The count of numbers.
int numbers(const Descriptor* of, int attribute, int64_t* to) {
  const Value* value = of != nullptr ? find(of, attribute) : nullptr;
  if (value == nullptr || value->type != 3 || value->count > Convolution::kMost) return 0;
  std::memcpy(to, value->data, value->bytes);
  return static_cast<int>(value->count);
}

// cudnnDataType_t
Element element_of(const Descriptor* tensor) {
  const Value* value = tensor != nullptr ? find(tensor, kTensorType) : nullptr;
  int type = -1;
  if (value != nullptr && value->bytes >= sizeof(type)) std::memcpy(&type, value->data, sizeof(type));
  return type == 0 ? Element::float32 : type == 2 ? Element::float16 : type == 9 ? Element::bfloat16 : Element::other;
}

bool is_channels_last(const Descriptor* tensor, const int64_t* sizes) {
  int64_t strides[Convolution::kMost] = {};
  return numbers(tensor, kTensorStrides, strides) > 1 && strides[1] == 1 && sizes[1] > 1;
}

// Without tensor cores (before Ampere, float32) the kernels are others: no sizes of them are known.
uint64_t workspace_of_convolution(const Descriptor* operation, const ConvolutionKind& kind) {
  const Descriptor* input = referred(operation, kind.input);
  Convolution made;
  made.pass = kind.pass;
  made.element = element_of(input);
  made.dimensions = numbers(input, kTensorDimensions, made.input);
  const Descriptor* how = referred(operation, kind.convolution);
  const Descriptor* output = referred(operation, kind.output);
  if (settings().major < 8 ||
      numbers(referred(operation, kind.filter), kTensorDimensions, made.filter) != made.dimensions ||
      numbers(output, kTensorDimensions, made.output) != made.dimensions ||
      numbers(how, kFilterStrides, made.strides) != made.dimensions - 2 ||
      numbers(how, kPrePaddings, made.paddings) != made.dimensions - 2) {
    return 0;
  }
  made.is_channels_last = is_channels_last(input, made.input) && is_channels_last(output, made.output);
  return workspace_of(made);
}

uint64_t workspace_of_graph(const Value& operations) {
  uint64_t most = 0;
  for (int64_t i = 0; i < operations.count; ++i) {
    const Descriptor* operation = descriptor_at(operations, i);
    if (operation == nullptr) continue;
    uint64_t bytes = operation->type == kOperationMatmul ? kAttentionWorkspace : 0;
    for (const ConvolutionKind& kind : kConvolutions) {
      if (operation->type == kind.type) bytes = workspace_of_convolution(operation, kind);
    }
    if (bytes > most) most = bytes;
  }
  return most;
}

int put_number(int64_t number, int64_t wanted, int64_t* got, void* to) {
  if (got != nullptr) *got = 1;
  if (wanted > 0 && to != nullptr) std::memcpy(to, &number, sizeof(number));
  return kDnnSuccess;
}

// Fills the caller's descriptors: the best engine, and one without a workspace, which PyTorch tries if the GPU has no
// room for that of the first.
int put_results(uint64_t workspace, int64_t wanted, int64_t* got, void* to) {
  constexpr int64_t kEngines = 2;
  if (got != nullptr) *got = to == nullptr || wanted > kEngines ? kEngines : wanted;
  if (to == nullptr || wanted < 1) return kDnnSuccess;
  auto** const configs = static_cast<Descriptor**>(to);
  configs[0]->workspace = workspace;
  if (wanted > 1) configs[1]->workspace = 0;
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
  if (attribute == kGraphOperations) {
    descriptor->workspace = workspace_of_graph(*value);
  } else if (const Descriptor* to = referred(descriptor, attribute); to != nullptr && to->workspace > 0) {
    descriptor->workspace = to->workspace;
  }
  return kDnnSuccess;
}

TAPELENS_CUDA int cudnnBackendGetAttribute(const void* of, int attribute, int type, int64_t wanted, int64_t* got,
                                           void* to) {
  switch (attribute) {
    case kHeuristicResults:
      return put_results(static_cast<const Descriptor*>(of)->workspace, wanted, got, to);
    case kConfigEngine:  // the caller provides a descriptor to fill
    case kPlanConfig:
      if (got != nullptr) *got = 1;
      if (type == kBackendDescriptor && wanted > 0 && to != nullptr) {
        (*static_cast<Descriptor**>(to))->workspace = static_cast<const Descriptor*>(of)->workspace;
      }
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
      return put_number(static_cast<int64_t>(dnn_workspace(static_cast<const Descriptor*>(of)->workspace)), wanted, got,
                        to);
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
