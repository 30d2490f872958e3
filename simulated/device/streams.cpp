#include "simulated/device/streams.h"

#include <cstdlib>

#include "simulated/device/state.h"

namespace tapelens::simulated {
namespace {

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;  // guards streams and captures; taken while no other lock is held
Stream* g_streams = nullptr;
Stream g_own[kMostDevices];  // each GPU's own
uint64_t g_last_stream = kMostDevices, g_last_capture = 0;
uint64_t g_launches = 0;  // launches in all streams

}  // namespace

Stream* stream_of(void* handle) {
  if (reinterpret_cast<uintptr_t>(handle) > 2) return static_cast<Stream*>(handle);
  const int device = current_device();
  Stream* own = &g_own[device];
  own->device = device;
  own->id = static_cast<uint64_t>(device) + 1;
  return own;
}

Stream* make_stream(unsigned flags, int priority) {
  auto* stream = make_handle<Stream>();
  stream->device = current_device();
  stream->flags = flags;
  stream->priority = priority;
  begin_context(stream->device);
  const Lock lock(g_mutex);
  stream->id = ++g_last_stream;
  stream->next = g_streams;
  g_streams = stream;
  return stream;
}

void end_stream(Stream* stream) {
  const Lock lock(g_mutex);
  for (Stream** at = &g_streams; *at != nullptr; at = &(*at)->next) {
    if (*at != stream) continue;
    *at = stream->next;
    free(stream);
    return;
  }
}

int begin_capture(Stream* stream, Graph* into) {
  const Lock lock(g_mutex);
  if (stream->capture != 0 || stream == &g_own[stream->device]) return kCaptureUnsupported;
  stream->capture = ++g_last_capture;
  stream->is_origin = true;
  stream->graph = into != nullptr ? into : make_handle<Graph>();
  return kSuccess;
}

int end_capture(Stream* stream, Graph** graph) {
  const Lock lock(g_mutex);
  *graph = nullptr;
  if (stream->capture == 0 || !stream->is_origin) return kCaptureInvalidated;
  *graph = stream->graph;
  const uint64_t ended = stream->capture;
  for (Stream* other = g_streams; other != nullptr; other = other->next) {
    if (other->capture != ended) continue;
    other->capture = 0;
    other->is_origin = false;
    other->graph = nullptr;
  }
  return kSuccess;
}

bool is_capturing(const Stream* stream) {
  const Lock lock(g_mutex);
  return stream->capture != 0;
}

void count_node(void* handle) {
  __atomic_add_fetch(&g_launches, 1, __ATOMIC_RELAXED);
  if (reinterpret_cast<uintptr_t>(handle) <= 2) return;
  const Lock lock(g_mutex);
  if (Graph* graph = static_cast<Stream*>(handle)->graph) ++graph->nodes;
}

void record(Event* event, Stream* stream) {
  const Lock lock(g_mutex);
  event->recorded = true;
  event->launches = __atomic_load_n(&g_launches, __ATOMIC_RELAXED);
  event->capture = stream->capture;
}

void wait(Stream* stream, const Event* event) {
  const Lock lock(g_mutex);
  if (event->capture == 0 || stream->capture != 0 || stream == &g_own[stream->device]) return;
  for (const Stream* other = g_streams; other != nullptr; other = other->next) {
    if (other->capture != event->capture) continue;
    stream->capture = other->capture;
    stream->graph = other->graph;
    return;
  }
}

void end_graph(Graph* graph) {
  if (graph == nullptr) return;
  for (size_t i = 0; i < graph->retained_count; ++i) release(graph->retained[i], 1);
  free(graph->retained);
  free(graph);
}

Graph* copy_graph(const Graph& graph) {
  auto* copied = make_handle<Graph>();
  copied->nodes = graph.nodes;
  for (size_t i = 0; i < graph.retained_count; ++i) {
    __atomic_add_fetch(&graph.retained[i]->uses, 1, __ATOMIC_RELAXED);
    retain(copied, graph.retained[i]);
  }
  return copied;
}

void retain(Graph* graph, UserObject* object) {
  void* larger = std::realloc(graph->retained, (graph->retained_count + 1) * sizeof(UserObject*));
  if (larger == nullptr) abort();
  graph->retained = static_cast<UserObject**>(larger);
  graph->retained[graph->retained_count++] = object;
}

void release(UserObject* object, int64_t uses) {
  if (__atomic_sub_fetch(&object->uses, uses, __ATOMIC_ACQ_REL) > 0) return;
  object->destroy(object->what);
  free(object);
}

}  // namespace tapelens::simulated
