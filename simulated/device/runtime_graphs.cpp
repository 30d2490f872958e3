// The CUDA runtime: capture of streams into graphs. A graph counts its nodes, and its launch does nothing, as kernels
// do nothing.
#include <cstdlib>

#include "simulated/device/state.h"
#include "simulated/device/streams.h"

using namespace tapelens::simulated;

TAPELENS_CUDA int cudaStreamBeginCapture(void* stream, int) {
  return failed(begin_capture(stream_of(stream), nullptr));
}

TAPELENS_CUDA int cudaStreamBeginCaptureToGraph(void* stream, void* graph, const void**, const void*, size_t, int) {
  return failed(begin_capture(stream_of(stream), static_cast<Graph*>(graph)));
}

TAPELENS_CUDA int cudaStreamEndCapture(void* stream, void** graph) {
  Graph* captured = nullptr;
  const int error = end_capture(stream_of(stream), &captured);
  *graph = captured;
  return failed(error);
}

TAPELENS_CUDA int cudaStreamIsCapturing(void* stream, int* status) {
  *status = is_capturing(stream_of(stream)) ? kCapturing : kNotCapturing;
  return kSuccess;
}

// CUDA 13, and CUDA 12's third form.
TAPELENS_CUDA int cudaStreamGetCaptureInfo(void* stream, int* status, unsigned long long* id, void** graph,
                                           const void*** dependencies, const void** edges, size_t* count) {
  const Stream* of = stream_of(stream);
  *status = is_capturing(of) ? kCapturing : kNotCapturing;
  if (id != nullptr) *id = of->capture;
  if (graph != nullptr) *graph = of->graph;
  if (dependencies != nullptr) *dependencies = nullptr;
  if (edges != nullptr) *edges = nullptr;
  if (count != nullptr) *count = 0;
  return kSuccess;
}

TAPELENS_CUDA int cudaStreamGetCaptureInfo_v3(void* stream, int* status, unsigned long long* id, void** graph,
                                              const void*** dependencies, const void** edges, size_t* count) {
  return cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, edges, count);
}

TAPELENS_CUDA int cudaStreamGetCaptureInfo_v2(void* stream, int* status, unsigned long long* id, void** graph,
                                              const void*** dependencies, size_t* count) {
  return cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, nullptr, count);
}

TAPELENS_CUDA int cudaThreadExchangeStreamCaptureMode(int* mode) {
  thread_local int current = 0;  // cudaStreamCaptureModeGlobal
  const int before = current;
  current = *mode;
  *mode = before;
  return kSuccess;
}
TAPELENS_CUDA int cuThreadExchangeStreamCaptureMode(int* mode) { return cudaThreadExchangeStreamCaptureMode(mode); }

TAPELENS_CUDA int cudaGraphCreate(void** graph, unsigned) {
  *graph = make_handle<Graph>();
  return kSuccess;
}

TAPELENS_CUDA int cudaGraphDestroy(void* graph) {
  end_graph(static_cast<Graph*>(graph));
  return kSuccess;
}

TAPELENS_CUDA int cudaGraphGetNodes(void* graph, void** nodes, size_t* count) {
  const uint64_t all = static_cast<Graph*>(graph)->nodes;
  if (nodes != nullptr) {
    for (size_t i = 0; i < *count; ++i) nodes[i] = nullptr;  // nodes have no properties to query
  }
  *count = all;
  return kSuccess;
}

TAPELENS_CUDA int cudaGraphInstantiate(void** executable, void* graph, unsigned long long) {
  *executable = copy_graph(*static_cast<Graph*>(graph));
  return kSuccess;
}

TAPELENS_CUDA int cudaGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long flags) {
  return cudaGraphInstantiate(executable, graph, flags);
}

TAPELENS_CUDA int cudaGraphExecDestroy(void* executable) { return cudaGraphDestroy(executable); }
TAPELENS_CUDA int cudaGraphLaunch(void*, void* stream) {
  count_node(stream);
  return kSuccess;
}
TAPELENS_CUDA int cudaGraphUpload(void*, void*) { return kSuccess; }

// Conditional nodes depend on unknown values.
TAPELENS_CUDA int cudaGraphConditionalHandleCreate(void*, void*, unsigned, unsigned) {
  return failed(unsupported(Unsupported::graph_branches));
}
TAPELENS_CUDA int cudaGraphAddNode(void*, ...) { return failed(kNotSupported); }

TAPELENS_CUDA int cudaUserObjectCreate(void** object, void* what, void (*destroy)(void*), unsigned uses, unsigned) {
  auto* made = make_handle<UserObject>();
  made->what = what;
  made->destroy = destroy;
  made->uses = uses;
  *object = made;
  return kSuccess;
}

TAPELENS_CUDA int cudaUserObjectRetain(void* object, unsigned uses) {
  __atomic_add_fetch(&static_cast<UserObject*>(object)->uses, static_cast<int64_t>(uses), __ATOMIC_RELAXED);
  return kSuccess;
}

TAPELENS_CUDA int cudaUserObjectRelease(void* object, unsigned uses) {
  release(static_cast<UserObject*>(object), uses);
  return kSuccess;
}

// With cudaGraphUserObjectMove, the graph takes over the caller's reference.
TAPELENS_CUDA int cudaGraphRetainUserObject(void* graph, void* object, unsigned uses, unsigned flags) {
  auto* retained = static_cast<UserObject*>(object);
  if ((flags & 1) == 0) __atomic_add_fetch(&retained->uses, static_cast<int64_t>(uses), __ATOMIC_RELAXED);
  for (unsigned i = 0; i < uses; ++i) retain(static_cast<Graph*>(graph), retained);
  return kSuccess;
}
