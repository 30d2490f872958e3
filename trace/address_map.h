// Maps the addresses of live memory to values: open addressing with linear probing, for the sealer's hottest look-ups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "trace/seeded_hash.h"

namespace tapelens::trace {

// Keys are addresses, never 0. An insert or erase invalidates pointers to values.
template <class Value>
class AddressMap {
 public:
  AddressMap() : slots_(1024) {}

  const Value* find(uint64_t address) const {
    for (size_t i = home(address);; i = next(i)) {
      if (slots_[i].address == address) return &slots_[i].value;
      if (slots_[i].address == 0) return nullptr;
    }
  }
  Value* find(uint64_t address) { return const_cast<Value*>(std::as_const(*this).find(address)); }
  // Requires that the map does not contain the address yet.
  void insert(uint64_t address, const Value& value) {
    if (2 * ++count_ > slots_.size()) grow();
    place(address, value);
  }
  void erase(uint64_t address) {
    size_t hole = home(address);
    while (slots_[hole].address != address) {
      if (slots_[hole].address == 0) return;
      hole = next(hole);
    }
    --count_;
    // The following slots of the run move up, unless a slot would move before its home.
    for (size_t i = next(hole); slots_[i].address != 0; i = next(i)) {
      const size_t from_home = (i - home(slots_[i].address)) & (slots_.size() - 1);
      const size_t from_hole = (i - hole) & (slots_.size() - 1);
      if (from_home < from_hole) continue;
      slots_[hole] = std::move(slots_[i]);
      hole = i;
    }
    slots_[hole] = Slot{};
  }
  size_t size() const { return count_; }
  // Calls visit(value) for each value, in no order.
  template <class Visit>
  void each(Visit&& visit) const {
    for (const Slot& slot : slots_)
      if (slot.address != 0) visit(slot.value);
  }

 private:
  struct Slot {
    uint64_t address = 0;
    Value value{};
  };
  size_t home(uint64_t address) const { return seeded_hash(address, seed_) & (slots_.size() - 1); }
  size_t next(size_t i) const { return (i + 1) & (slots_.size() - 1); }
  void place(uint64_t address, const Value& value) {
    size_t i = home(address);
    while (slots_[i].address != 0) i = next(i);
    slots_[i] = {address, value};
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.address != 0) place(slot.address, slot.value);
  }
  std::vector<Slot> slots_;
  size_t count_ = 0;
  uint64_t seed_ = hash_seed();
};

}  // namespace tapelens::trace
