// NCCL for one process that represents any rank of any world: every collective is already complete, and every rank has
// the same data as this one. Small tensors (kKeptBytes) get the resulting values; larger ones do not change.
#include "simulated/device/nccl.h"

#include <cstdlib>
#include <cstring>

#include "simulated/device/activities.h"
#include "simulated/device/memory.h"
#include "simulated/device/state.h"
#include "simulated/device/streams.h"

using namespace tapelens::simulated;

namespace {

struct Communicator {
  int size;  // 0: split from another communicator, with an unknown number of ranks
  int rank, device;
};

struct UniqueId {
  char bytes[128];
};

// ncclDataType_t
size_t width(int type) {
  constexpr size_t kWidths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type >= 0 && type < 12 ? kWidths[type] : 1;
}

float of_half(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 0) {
    const float small = static_cast<float>(fraction) / 16777216.0F;
    return sign != 0 ? -small : small;
  }
  const uint32_t word = sign | (exponent == 31 ? 0x7f800000U : (exponent + 112) << 23) | fraction << 13;
  float value;
  std::memcpy(&value, &word, sizeof(value));
  return value;
}

float of_bfloat(uint16_t bits) {
  const uint32_t word = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &word, sizeof(value));
  return value;
}

uint16_t to_bfloat(float value) {
  uint32_t word;
  std::memcpy(&word, &value, sizeof(word));
  if ((word & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(word >> 16 | 64);
  return static_cast<uint16_t>((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

uint16_t to_half(float value) {
  uint32_t word;
  std::memcpy(&word, &value, sizeof(word));
  const uint32_t sign = word >> 16 & 0x8000, magnitude = word & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00);
  if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < 0x38800000) {
    const float scaled = (value < 0 ? -value : value) * 16777216.0F;
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(scaled + 0.5F));
  }
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13));
}

template <class Value>
void times(void* data, size_t count, int factor) {
  for (size_t i = 0; i < count; ++i) {
    Value value;
    std::memcpy(&value, static_cast<char*>(data) + i * sizeof(Value), sizeof(Value));
    value = static_cast<Value>(value * static_cast<Value>(factor));
    std::memcpy(static_cast<char*>(data) + i * sizeof(Value), &value, sizeof(Value));
  }
}

template <float (*Read)(uint16_t), uint16_t (*Write)(float)>
void times_16(void* data, size_t count, int factor) {
  for (size_t i = 0; i < count; ++i) {
    uint16_t bits;
    std::memcpy(&bits, static_cast<char*>(data) + i * 2, 2);
    bits = Write(Read(bits) * static_cast<float>(factor));
    std::memcpy(static_cast<char*>(data) + i * 2, &bits, 2);
  }
}

// A sum over ranks that all have the same data. Other reductions leave the data unchanged.
void reduce(void* data, size_t count, int type, int operation, const Communicator& of) {
  if (operation != 0 || of.size <= 1 || count * width(type) > kKeptBytes) return;
  switch (type) {
    case 0:
      times<int8_t>(data, count, of.size);
      break;
    case 1:
      times<uint8_t>(data, count, of.size);
      break;
    case 2:
      times<int32_t>(data, count, of.size);
      break;
    case 3:
      times<uint32_t>(data, count, of.size);
      break;
    case 4:
      times<int64_t>(data, count, of.size);
      break;
    case 5:
      times<uint64_t>(data, count, of.size);
      break;
    case 6:
      times_16<of_half, to_half>(data, count, of.size);
      break;
    case 7:
      times<float>(data, count, of.size);
      break;
    case 8:
      times<double>(data, count, of.size);
      break;
    case 9:
      times_16<of_bfloat, to_bfloat>(data, count, of.size);
      break;
    default:
      break;
  }
}

// The existing communicators, for a later watcher.
pthread_mutex_t g_made_mutex = PTHREAD_MUTEX_INITIALIZER;
Communicator* g_made = nullptr;
size_t g_made_count = 0;
CommunicatorMade g_tell = nullptr;

const Communicator& communicator(void* handle) { return *static_cast<Communicator*>(handle); }

void* make(int size, int rank) {
  auto* made = make_handle<Communicator>();
  *made = {size, rank, current_device()};
  CommunicatorMade tell = nullptr;
  {
    const Lock lock(g_made_mutex);
    auto* larger = static_cast<Communicator*>(std::realloc(g_made, (g_made_count + 1) * sizeof(Communicator)));
    if (larger == nullptr) abort();
    g_made = larger;
    g_made[g_made_count++] = *made;
    tell = g_tell;
  }
  if (tell != nullptr) tell(made->device, size);
  return made;
}

thread_local int t_split_ranks = 0;  // 0: not known

// A gather into a list is a group of broadcasts, one from each rank. The other ranks send the same data as this one.
struct Broadcast {
  void* to;
  size_t bytes;
  bool is_root;
};
// A gather to one rank is a group of receives from all others; an all-to-all is a group of sends and receives.
struct Receive {
  char* to;
  size_t bytes;
  int peer;
  const Communicator* of;
};

template <class Item>
class List {
 public:
  void add(const Item& item) {
    if (count_ == room_) {
      room_ = room_ == 0 ? 64 : 2 * room_;
      auto* larger = static_cast<Item*>(std::realloc(items_, room_ * sizeof(Item)));
      if (larger == nullptr) abort();
      items_ = larger;
    }
    items_[count_++] = item;
  }
  void clear() {
    std::free(items_);
    items_ = nullptr;
    count_ = room_ = 0;
  }
  const Item* begin() const { return items_; }
  const Item* end() const { return items_ + count_; }
  size_t size() const { return count_; }

 private:
  Item* items_ = nullptr;
  size_t count_ = 0, room_ = 0;
};

// The members of the open group.
thread_local List<Broadcast> t_broadcasts;
thread_local List<Receive> t_receives;
thread_local const void* t_sent_to_itself = nullptr;
thread_local size_t t_sent_bytes = 0;
thread_local int t_depth = 0;

// A gather: when the group has ended, PyTorch copies this rank's data to its own place among the others'. Empty if the
// places are not contiguous or a rank is missing.
Pieces gathered() {
  if (t_receives.size() == 0) return {};
  const Receive& first = *t_receives.begin();
  char* const all = first.to - static_cast<size_t>(first.peer) * first.bytes;
  for (const Receive& one : t_receives) {
    if (one.of != first.of || one.bytes != first.bytes || one.peer == first.of->rank ||
        one.to != all + static_cast<size_t>(one.peer) * first.bytes)
      return {};
  }
  if (t_receives.size() + 1 != static_cast<size_t>(first.of->size)) return {};
  return {all, first.bytes, first.of->size, first.of->rank};
}

void end_group() {
  const Broadcast* own = nullptr;
  for (const Broadcast& one : t_broadcasts) {
    if (one.is_root) own = &one;
  }
  for (const Broadcast& other : t_broadcasts) {
    if (own != nullptr && !other.is_root) copy(other.to, own->to, other.bytes < own->bytes ? other.bytes : own->bytes);
  }
  for (const Receive& one : t_receives) {
    if (t_sent_to_itself != nullptr && one.bytes <= t_sent_bytes) copy(one.to, t_sent_to_itself, one.bytes);
  }
  if (t_sent_to_itself == nullptr) repeat_next_copy(gathered());
  t_broadcasts.clear();
  t_receives.clear();
  t_sent_to_itself = nullptr;
}

// The minimum number of ranks that must exist.
int known_size(const Communicator& of) { return of.size > 0 ? of.size : of.rank + 1; }

}  // namespace

void tapelens::simulated::set_split_ranks(int ranks) { t_split_ranks = ranks; }

void tapelens::simulated::watch_communicators(CommunicatorMade made) {
  const Lock lock(g_made_mutex);
  g_tell = made;
  for (size_t i = 0; i < g_made_count; ++i) made(g_made[i].device, g_made[i].size);
}

TAPELENS_CUDA int ncclGetVersion(int* version) {
  *version = static_cast<int>(settings().nccl);
  return 0;
}

TAPELENS_CUDA const char* ncclGetErrorString(int error) {
  return error == 0 ? "no error" : "the operation is not simulated";
}
TAPELENS_CUDA const char* ncclGetLastError(void*) { return ""; }

TAPELENS_CUDA int ncclGetUniqueId(UniqueId* id) {
  std::memset(id, 1, sizeof(*id));
  return 0;
}

TAPELENS_CUDA int ncclCommGetUniqueId(void*, UniqueId* id) { return ncclGetUniqueId(id); }

TAPELENS_CUDA int ncclCommInitRank(void** to, int size, UniqueId, int rank) {
  *to = make(size, rank);
  return 0;
}

TAPELENS_CUDA int ncclCommInitRankConfig(void** to, int size, UniqueId, int rank, void*) {
  *to = make(size, rank);
  return 0;
}

TAPELENS_CUDA int ncclCommInitRankScalable(void** to, int size, int rank, int, UniqueId*, void*) {
  *to = make(size, rank);
  return 0;
}

TAPELENS_CUDA int ncclCommInitAll(void** to, int count, const int*) {
  for (int i = 0; i < count; ++i) to[i] = make(count, i);
  return 0;
}

// Only the other ranks and PyTorch know which ranks take part (set_split_ranks). This rank's number implies all ranks
// before it.
TAPELENS_CUDA int ncclCommSplit(void*, int color, int key, void** to, void*) {
  *to = nullptr;
  if (color < 0) return 0;  // NCCL_SPLIT_NOCOLOR
  *to = make(t_split_ranks, key);
  t_split_ranks = 0;
  return 0;
}

TAPELENS_CUDA int ncclCommDestroy(void* handle) {
  free(handle);
  return 0;
}
TAPELENS_CUDA int ncclCommAbort(void* handle) { return ncclCommDestroy(handle); }
TAPELENS_CUDA int ncclCommFinalize(void*) { return 0; }

TAPELENS_CUDA int ncclCommCount(void* handle, int* count) {
  *count = known_size(communicator(handle));
  return 0;
}

TAPELENS_CUDA int ncclCommUserRank(void* handle, int* rank) {
  *rank = communicator(handle).rank;
  return 0;
}

TAPELENS_CUDA int ncclCommCuDevice(void* handle, int* device) {
  *device = communicator(handle).device;
  return 0;
}

TAPELENS_CUDA int ncclCommGetAsyncError(void*, int* error) {
  *error = 0;
  return 0;
}

TAPELENS_CUDA int ncclRedOpCreatePreMulSum(int* operation, void*, int, int, void*) {
  *operation = 5;  // one after ncclNumOps: values stay
  return 0;
}

TAPELENS_CUDA int ncclMemAlloc(void** memory, size_t bytes) {
  const Call call(kNoFunction, __builtin_return_address(0), "libnccl.so.2");
  return allocate(current_device(), bytes, memory) == kSuccess ? 0 : 1;
}
TAPELENS_CUDA int ncclMemFree(void* memory) { return release(memory) == kSuccess ? 0 : 1; }

TAPELENS_CUDA int ncclAllReduce(const void* from, void* to, size_t count, int type, int operation, void* handle,
                                void* stream) {
  count_node(stream);
  copy(to, from, count * width(type));
  reduce(to, count, type, operation, communicator(handle));
  return 0;
}

TAPELENS_CUDA int ncclReduce(const void* from, void* to, size_t count, int type, int operation, int root, void* handle,
                             void* stream) {
  count_node(stream);
  if (communicator(handle).rank != root) return 0;
  copy(to, from, count * width(type));
  reduce(to, count, type, operation, communicator(handle));
  return 0;
}

TAPELENS_CUDA int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, void* handle,
                                void* stream) {
  count_node(stream);
  const bool is_root = communicator(handle).rank == root;
  if (is_root) copy(to, from, count * width(type));
  if (t_depth > 0) t_broadcasts.add({to, count * width(type), is_root});
  return 0;
}

TAPELENS_CUDA int ncclGroupStart() {
  ++t_depth;
  return 0;
}

TAPELENS_CUDA int ncclGroupEnd() {
  if (t_depth > 0 && --t_depth == 0) end_group();
  return 0;
}

TAPELENS_CUDA int ncclBcast(void* data, size_t count, int type, int root, void* handle, void* stream) {
  return ncclBroadcast(data, data, count, type, root, handle, stream);
}

TAPELENS_CUDA int ncclAllGather(const void* from, void* to, size_t count, int type, void* handle, void* stream) {
  count_node(stream);
  const size_t bytes = count * width(type);
  const auto ranks = static_cast<size_t>(known_size(communicator(handle)));
  if (bytes * ranks > kKeptBytes) {
    set_known(to, bytes * ranks, false);
    return 0;
  }
  for (size_t i = 0; i < ranks; ++i) copy(static_cast<char*>(to) + i * bytes, from, bytes);
  return 0;
}

TAPELENS_CUDA int ncclReduceScatter(const void* from, void* to, size_t count, int type, int operation, void* handle,
                                    void* stream) {
  count_node(stream);
  const size_t bytes = count * width(type);
  copy(to, static_cast<const char*>(from) + static_cast<size_t>(communicator(handle).rank) * bytes, bytes);
  reduce(to, count, type, operation, communicator(handle));
  return 0;
}

// Every rank sends the same: each one's contribution is this rank's own piece for its own number.
TAPELENS_CUDA int ncclAlltoAll(const void* from, void* to, size_t count, int type, void* handle, void* stream) {
  count_node(stream);
  const size_t bytes = count * width(type);
  const Communicator& of = communicator(handle);
  const auto ranks = static_cast<size_t>(known_size(of));
  if (bytes * ranks > kKeptBytes) {
    set_known(to, bytes * ranks, false);
    return 0;
  }
  for (size_t i = 0; i < ranks; ++i) {
    copy(static_cast<char*>(to) + i * bytes, static_cast<const char*>(from) + static_cast<size_t>(of.rank) * bytes,
         bytes);
  }
  return 0;
}

TAPELENS_CUDA int ncclGather(const void* from, void* to, size_t count, int type, int root, void* handle, void* stream) {
  return communicator(handle).rank == root ? ncclAllGather(from, to, count, type, handle, stream) : 0;
}

// The data of another rank is unknown: the receiver's memory does not change.
TAPELENS_CUDA int ncclSend(const void* from, size_t count, int type, int peer, void* handle, void* stream) {
  count_node(stream);
  if (t_depth > 0 && peer == communicator(handle).rank) {
    t_sent_to_itself = from;
    t_sent_bytes = count * width(type);
  }
  return 0;
}
TAPELENS_CUDA int ncclRecv(void* to, size_t count, int type, int peer, void* handle, void* stream) {
  count_node(stream);
  const size_t bytes = count * width(type);
  set_known(to, bytes, false);
  if (t_depth > 0) t_receives.add({static_cast<char*>(to), bytes, peer, &communicator(handle)});
  return 0;
}

// Windows into memory of other ranks: not simulated.
TAPELENS_CUDA int ncclCommWindowRegister(void*, ...) { return 5; }  // ncclInvalidUsage
TAPELENS_CUDA int ncclDevCommCreate(void*, ...) { return 5; }
