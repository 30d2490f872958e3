// The rules by which the addresses in the events of a process become allocations, storages and nodes
// (docs/trace-format.md, "From addresses to ids"). Used by the code that follows events in the order of time: the
// sealer (process_sealer.h), the older steps (still_needed.h) and the live bytes of a spool (ring.cpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "trace/address_map.h"
#include "trace/record.h"
#include "trace/types.h"

namespace tapelens::trace {

// `Allocation` and `Node` are the follower's own names of an allocation and a node; their default value means none. The
// book calls these functions of the follower:
//   void unmatched();                     an event with address 0, an end of unknown memory, a begin at a live address
//   void freed(const Allocation&);        by its free
//   void freed_unseen(const Allocation&, uint64_t address, uint8_t device);   another allocation has its address now
//   void died_unseen(const Node&, uint64_t address);                          another node has its address now
//   void peaked(uint8_t device, uint64_t bytes);   its first memory, and whenever more bytes are live than ever before
template <class Follower, class Allocation, class Node>
class AddressBook {
 public:
  explicit AddressBook(Follower& follower) : follower_(follower) {}

  // ---- memory

  // The live allocation at an address, or none.
  Allocation allocation_at(uint64_t address) const {
    const Live* live = find(live_, address);
    return live != nullptr ? live->allocation : Allocation{};
  }
  // The live allocation of a storage. If its address is unknown and its size is known, `make()` makes it: its
  // allocation was not seen, so nothing else is known of it.
  template <class Make>
  Allocation storage_at(uint64_t address, uint64_t bytes, Make&& make) {
    if (const Live* live = find(live_, address)) return live->allocation;
    return address != 0 && bytes != 0 ? add(address, {make(), 0, Origin::foreign, bytes}) : Allocation{};
  }
  // `device` is the follower's number of it.
  template <class Make>
  void allocation(uint64_t address, uint64_t bytes, uint8_t device, Make&& make) {
    if (address == 0) return follower_.unmatched();
    if (const Live* old = find(live_, address)) {
      // The end of foreign memory is not recorded; memory of an allocator should have been freed.
      if (old->origin != Origin::foreign) follower_.unmatched();
      follower_.freed_unseen(old->allocation, address, old->device);
      end(address, *old);
    }
    add(address, {make(), device, Origin::allocator, bytes});
    change(device, bytes);
  }
  // Calls make(is_older). The spool does not have the operator of an older block.
  template <class Make>
  void device_allocation(const DeviceAllocationRecord& record, uint8_t device, Make&& make) {
    const bool is_older = (record.flags & kDeviceAllocationIsOlder) != 0;
    // The thread that made it may already have reported a block that is reported as older.
    if (is_older && find(live_, record.address) != nullptr) return;
    allocation(record.address, record.bytes, device, [&] { return make(is_older); });
  }
  template <class Make>
  void foreign(const ForeignRecord& record, uint8_t device, Make&& make) {
    // An allocator allocated it under another name (copy-on-write), or it is known already.
    if (record.address == 0 || find(live_, record.address) != nullptr) return;
    add(record.address, {make(), device, Origin::foreign, record.bytes});
  }
  template <class Request>
  void free_request(const FreeRecord& record, Request&& request) {
    const Live* live = find(live_, record.address);
    if (live == nullptr) return follower_.unmatched();
    request(live->allocation);
  }
  void free(const FreeRecord& record) {
    const Live* live = find(live_, record.address);
    if (live == nullptr) return follower_.unmatched();
    follower_.freed(live->allocation);
    end(record.address, *live);
  }
  template <class Visit>
  void each_allocation(Visit&& visit) const {
    live_.each([&](const Live& live) { visit(live.allocation); });
  }

  // Bytes that the allocators of a device have allocated. The sizes in an untrusted spool may add up to any value:
  // modulo 2^64, with a sign.
  struct Device {
    uint64_t live = 0, peak = 0;
    bool is_used = false;
  };
  const std::array<Device, 256>& devices() const { return devices_; }

  // ---- nodes

  Node node_at(uint64_t address) const {
    const LiveNode* known = find(nodes_, address);
    return known != nullptr ? known->node : Node{};
  }
  // Calls make(parameter) unless this node is live already. `parameter`: the parameter of an AccumulateGrad.
  template <class Make>
  void node(const NodeRecord& record, uint32_t lane, Make&& make) {
    if (record.address == 0) return follower_.unmatched();
    const bool accumulates = (record.header.flags & kNodeIsAccumulateGrad) != 0;
    if (const LiveNode* known = find(nodes_, record.address)) {
      const bool is_same = known->is_accumulate_grad == accumulates &&
                           (accumulates ? known->storage == record.storage
                                        : known->sequence_nr == record.sequence_nr && known->lane == lane);
      if (is_same) return;
      // Two nodes cannot share an address: the end of the first was not recorded.
      follower_.died_unseen(known->node, record.address);
      nodes_.erase(record.address);
    }
    const Node made = make(accumulates ? allocation_at(record.storage) : Allocation{});
    nodes_.insert(record.address, {made, lane, accumulates, record.sequence_nr, record.storage});
  }
  // Nodes from the time when only memory was recorded also die; their release loses no data.
  template <class Release>
  void node_release(const NodeReleaseRecord& record, Release&& release) {
    const LiveNode* known = find(nodes_, record.node);
    if (known == nullptr) return;
    release(known->node);
    if ((record.header.flags & kNodeDied) != 0) nodes_.erase(record.node);
  }
  template <class Visit>
  void each_node(Visit&& visit) const {
    nodes_.each([&](const LiveNode& live) { visit(live.node); });
  }

 private:
  struct Live {
    Allocation allocation{};
    uint8_t device = 0;
    Origin origin{};
    uint64_t bytes = 0;
  };
  struct LiveNode {
    Node node{};
    uint32_t lane = 0;
    bool is_accumulate_grad = false;
    uint64_t sequence_nr = 0, storage = 0;
  };

  // No memory has the address 0.
  template <class Value>
  static const Value* find(const AddressMap<Value>& map, uint64_t address) {
    return address != 0 ? map.find(address) : nullptr;
  }
  Allocation add(uint64_t address, const Live& live) {
    live_.insert(address, live);
    return live.allocation;
  }
  void end(uint64_t address, const Live& live) {
    if (live.origin == Origin::allocator) change(live.device, 0 - live.bytes);
    live_.erase(address);
  }
  void change(uint8_t number, uint64_t more) {
    Device& device = devices_[number];
    const bool is_first = !std::exchange(device.is_used, true);
    device.live += more;
    const bool rises = static_cast<int64_t>(device.live) > static_cast<int64_t>(device.peak);
    if (rises) device.peak = device.live;
    if (rises || is_first) follower_.peaked(number, device.peak);
  }

  Follower& follower_;
  AddressMap<Live> live_;
  AddressMap<LiveNode> nodes_;
  std::array<Device, 256> devices_{};
};

}  // namespace tapelens::trace
