// Streams, events and graphs. All work is executed immediately, so streams are empty. Only captures matter: PyTorch's
// allocator queries which streams are being captured into a graph.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tapelens::simulated {

// cudaStreamCaptureStatus
enum CaptureStatus : int { kNotCapturing = 0, kCapturing = 1, kInvalidated = 2 };

struct UserObject {
  void* what;
  void (*destroy)(void*);
  int64_t uses;
};

struct Graph {
  uint64_t nodes;         // number of captured kernels, copies and fills
  UserObject** retained;  // live as long as the graph
  size_t retained_count;
};

struct Event {
  int device;
  bool recorded;
  uint64_t launches;  // launches of the process before the event
  uint64_t capture;   // the capture that it is in; 0: none
};

struct Stream {
  uint64_t id;
  int device;
  int priority;
  unsigned flags;
  uint64_t capture;  // the capture that it is in; 0: none
  bool is_origin;    // the capture began here
  Graph* graph;      // the target of the capture
  Stream* next;      // in the list of all streams
};

// A handle of the program: null, cudaStreamLegacy and cudaStreamPerThread are the current GPU's own stream.
Stream* stream_of(void* handle);
Stream* make_stream(unsigned flags, int priority);
void end_stream(Stream* stream);

// Captures. Both return an error of state.h.
int begin_capture(Stream* stream, Graph* into);
int end_capture(Stream* stream, Graph** graph);
bool is_capturing(const Stream* stream);
// Counts a kernel, copy or fill, also in the graph if the stream is being captured.
void count_node(void* handle);
void record(Event* event, Stream* stream);
// A stream that waits for an event of a capture joins the capture.
void wait(Stream* stream, const Event* event);

void end_graph(Graph* graph);
Graph* copy_graph(const Graph& graph);
void retain(Graph* graph, UserObject* object);
void release(UserObject* object, int64_t uses);

}  // namespace tapelens::simulated
