// The memory of the simulated GPUs: address ranges of this process, whose pages are untouched until the program writes
// them, and the used bytes of each GPU, which cannot exceed its size.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tapelens::simulated {

enum class Kind : uint8_t {
  none,      // memory of the program, unknown to CUDA
  device,    // memory of a GPU
  pooled,    // memory of a GPU, counted by its pool (runtime_pools.cpp)
  pinned,    // page-locked memory of the host
  managed,   // memory that GPU and host share
  reserved,  // an address range of the driver's virtual memory calls; `device` is the GPU that is mapped there
};

struct MemoryRange {
  char* begin = nullptr;
  size_t bytes = 0;
  Kind kind = Kind::none;
  int device = 0;
  bool is_ours = true;    // false: registered memory of the program
  char* known = nullptr;  // for a GPU: one byte for each byte of the range, nonzero if known
  void* pool = nullptr;   // kind pooled: runtime_pools.cpp

  bool is_on_device() const { return kind == Kind::device || kind == Kind::pooled || kind == Kind::reserved; }
};

// Address space with a range's alignment, zero until written. Null if the system has none left.
char* map_memory(size_t bytes, size_t alignment);

// Adds `bytes` to the GPU's used bytes; false, without a change, if it has no room.
bool take_bytes(int device, uint64_t bytes);
void give_bytes(int device, uint64_t bytes);
uint64_t used_bytes(int device);

// Ranges by address. add_range() requires that the range overlaps no other.
void add_range(const MemoryRange& range);
// The range that contains the address; kind none if no range does.
MemoryRange find_range(const void* address);
// Removes and returns the range that begins at the address; kind none if no range does.
MemoryRange take_range(const void* address);
// Sets the GPU of an existing range.
void set_range_device(const void* address, int device);

// cudaMalloc and cudaFree. Return an error of state.h.
int allocate(int device, size_t bytes, void** memory);
int release(void* memory);

// Prepares newly allocated GPU memory: zero, and unknown.
void make_new(void* memory, size_t bytes);

// Known and unknown bytes of the GPUs' memory: simulated/known/known.h.
bool is_known(const void* memory, size_t bytes);
void set_known(void* memory, size_t bytes, bool known);
// Reports a copy of unknown bytes to the host (known.cpp).
void tell_read(size_t bytes);

// Executes a device copy or fill of at most kKeptBytes. For a larger copy to the host, zeroes the destination.
void copy(void* to, const void* from, size_t bytes);
// Equal contiguous pieces, one per rank. If the next copy of this thread writes the piece `own`, all pieces get the
// same content.
struct Pieces {
  char* all;
  size_t bytes;
  int count, own;
};
void repeat_next_copy(const Pieces& pieces);
void fill(void* to, int value, size_t bytes);
void fill_words(void* to, unsigned value, size_t words);  // of four bytes

}  // namespace tapelens::simulated
