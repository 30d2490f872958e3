// Streams, events and graphs. All work is done when it is asked for, so a stream has nothing in it; what matters is
// which streams are being captured into a graph, since PyTorch's allocator asks that.
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
  uint64_t nodes;         // kernels, copies and fills that were captured
  UserObject** retained;  // lives as long as the graph
  size_t retained_count;
};

struct Event {
  int device;
  bool recorded;
  uint64_t launches;  // of the process, before it
  uint64_t capture;   // in which capture; 0: none
};

struct Stream {
  uint64_t id;
  int device;
  int priority;
  unsigned flags;
  uint64_t capture;  // the capture that it is part of; 0: none
  bool is_origin;    // where that began
  Graph* graph;      // what it captures into
  Stream* next;      // all that there are
};

// A handle of the program's: null, cudaStreamLegacy and cudaStreamPerThread are the current GPU's own stream.
Stream* stream_of(void* handle);
Stream* make_stream(unsigned flags, int priority);
void end_stream(Stream* stream);

// Captures. Both answer an error of state.h.
int begin_capture(Stream* stream, Graph* into);
int end_capture(Stream* stream, Graph** graph);
bool is_capturing(const Stream* stream);
// Counts a kernel, copy or fill: for its graph too, if the stream is being captured.
void count_node(void* handle);
void record(Event* event, Stream* stream);
// A stream that waits for an event of a capture becomes part of it.
void wait(Stream* stream, const Event* event);

void end_graph(Graph* graph);
Graph* copy_graph(const Graph& graph);
void retain(Graph* graph, UserObject* object);
void release(UserObject* object, int64_t uses);

}  // namespace tapelens::simulated
