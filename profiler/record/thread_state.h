// The recording's state for each thread, and functions that write records.
#pragma once

#include <torch/csrc/autograd/function.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/observe/thread.h"
#include "trace/spool_writer.h"

namespace tapelens::record {

using observe::address_of;
using observe::is_recording;
using observe::Mode;
using observe::mode;
using observe::slot_of;

extern trace::SpoolWriter g_spool;

// A save as the constructor of SavedVariable saw it. Its field is known when its operator ends.
struct PendingSave {
  uint64_t ticks;
  uint64_t storage, storage_bytes, storage_offset;
  uint32_t layout;
  uint8_t flags;  // trace::SaveFlags
  bool claimed;
  // For a wrapper subclass: its inner tensors, which are saved, in ThreadState::parts.
  uint32_t first_part = 0, parts = 0;
  uint32_t first_packed = 0, packed = 0;  // results of the program's hooks: ThreadState::packed
};

// One inner tensor of a saved wrapper subclass.
struct SavedPart {
  std::string path;  // "._local_tensor", appended to the field's name
  uint64_t storage, storage_bytes, storage_offset;
  uint32_t layout;
};

// The recorded properties of an operator, by its name.
struct OperatorTraits {
  uint32_t name = 0;               // string
  bool has_views = false;          // record the views of its inputs, too
  bool is_cheap_in_place = false;  // likewise, if it writes a part of a storage
};

struct Block {
  uint64_t address = 0, bytes = 0;
  friend bool operator==(const Block&, const Block&) = default;
};

struct ThreadState {
  trace::Lane lane;
  std::vector<PendingSave> saves;  // Thread::saves is their number
  std::vector<SavedPart> parts;    // of saves of wrapper subclasses
  std::vector<Block> packed;       // of saves that hooks packed
  // Memory that is allocated and not freed between save_begins() and save_ends(): by hooks.
  uint32_t saving = 0;
  std::vector<Block> made_by_hooks;

  // Direct-mapped caches: a slot keeps its last entry.
  struct Stack {
    uint64_t hash = 0;
    uint32_t id = 0;
  };
  struct Layout {
    uint64_t hash = 0;
    uint32_t id = 0;
  };
  struct Foreign {
    uint64_t address = 0, bytes = 0;
  };
  struct Attributes {
    std::array<char, 96> copy{};  // zeros after the text; a longer text is not cached
    uint32_t id = 0;
  };
  struct Leaf {  // an AccumulateGrad
    const torch::autograd::Node* node = nullptr;
    uint64_t storage = 0;
    uint32_t generation = 0;
  };
  // A device allocator's traced call that is not reported yet (profiler/cuda).
  struct DeviceCall {
    enum class Kind : uint8_t { none, allocation, free, out_of_memory };
    Kind kind{};
    bool is_complete = false;  // for a free: no stream uses the block any more
    uint64_t address = 0;
    uint64_t bytes = 0;  // requested; for out_of_memory: free on the device
    uint64_t stream = 0;
    trace::PoolNumbers pool{};
  };
  DeviceCall device_call;
  std::array<OperatorTraits, observe::kOperatorNames> operators;  // as Thread::names
  std::array<Stack, 1024> stacks;
  std::array<Layout, 1024> layouts;
  std::array<Foreign, 64> foreigns;
  std::array<Attributes, 64> attributes;
  std::array<Leaf, 1024> leaves;
};

// Reserves a record with a tail of 8-byte words and fills header and fields. Null if nothing can be written any more.
template <class Record>
Record* reserve(ThreadState& thread, trace::RecordKind kind, uint8_t flags, uint32_t id, size_t tail_words,
                size_t& bytes) {
  bytes = sizeof(Record) + 8 * tail_words;
  void* place = thread.lane.reserve(bytes);
  if (place == nullptr) return nullptr;
  auto* record = static_cast<Record*>(place);
  record->header = {kind, flags, static_cast<uint16_t>(bytes / 8), id};
  return record;
}

template <class Record>
trace::RecordHeader header(trace::RecordKind kind, uint8_t flags = 0, uint32_t id = 0) {
  return {kind, flags, static_cast<uint16_t>(sizeof(Record) / 8), id};
}

// Writes the end of an interval, or a point event.
inline void write_event(ThreadState& thread, trace::RecordKind kind, uint32_t id = 0, uint8_t flags = 0) {
  thread.lane.write(trace::NamedEventRecord{header<trace::NamedEventRecord>(kind, flags, id), trace::ticks_now()});
}

}  // namespace tapelens::record
