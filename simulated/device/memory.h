// The memory of the simulated GPUs: address ranges of this process, of which nothing is touched that nobody writes, and
// the sum of each GPU, which cannot be more than it has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tapelens::simulated {

enum class Kind : uint8_t {
  none,      // memory of the program that CUDA knows nothing of
  device,    // of a GPU
  pooled,    // of a GPU, counted by its pool (runtime_pools.cpp)
  pinned,    // of the host, page-locked
  managed,   // of both
  reserved,  // an address range of the driver's virtual memory calls; `device` is who is mapped there
};

struct Range {
  char* begin = nullptr;
  size_t bytes = 0;
  Kind kind = Kind::none;
  int device = 0;
  bool is_ours = true;    // not memory of the program that was registered
  char* known = nullptr;  // of a GPU: a byte for each of the range, not 0 where it is known (known.h)
  void* pool = nullptr;   // kind pooled: runtime_pools.cpp

  bool is_on_device() const { return kind == Kind::device || kind == Kind::pooled || kind == Kind::reserved; }
};

// Address space with a range's alignment, zero until it is written. Null if the system has none.
char* map_memory(size_t bytes, size_t alignment);

// Counts `bytes` to what a GPU has in use; false, and nothing is counted, if it has no more.
bool take_bytes(int device, uint64_t bytes);
void give_bytes(int device, uint64_t bytes);
uint64_t used_bytes(int device);

// Ranges by their address. add_range() needs one that overlaps none.
void add_range(const Range& range);
// The range that holds the address; kind none if there is none.
Range find_range(const void* address);
// Takes the range that begins at the address out; kind none if there is none.
Range take_range(const void* address);
// Of a range that is there: to which GPU it belongs now.
void set_range_device(const void* address, int device);

// cudaMalloc and cudaFree. An error of state.h.
int allocate(int device, size_t bytes, void** memory);
int release(void* memory);

// Memory of a GPU that is handed out anew: zero, and unknown.
void make_new(void* memory, size_t bytes);

// What a copy or a fill on the device does here: see kKeptBytes. What goes to the host and is larger becomes zero.
void copy(void* to, const void* from, size_t bytes);
// Equal pieces one behind the other, one for each rank. If the next copy of this thread is into the piece of `own`, all
// have what that has then.
struct Pieces {
  char* all;
  size_t bytes;
  int count, own;
};
void repeat_next_copy(const Pieces& pieces);
void fill(void* to, int value, size_t bytes);
void fill_words(void* to, unsigned value, size_t words);  // of four bytes

}  // namespace tapelens::simulated
