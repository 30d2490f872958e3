// The memory of a process that is followed while it runs: live bytes of each device, by the categories of the report
// (peak::HolderKind), the peak so far, the largest holders, and the steps. Bounded by the live memory of the process,
// and by the number of different places in the program that allocate.
//
// A category is known as far as the events up to now show it: a parameter is `program` until its role is recorded.
// The report knows the whole run. Bytes are the same as in the report.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/live/history.h"
#include "analyzer/live/names.h"
#include "analyzer/peak/holders.h"
#include "trace/address_book.h"
#include "trace/seeded_hash.h"
#include "trace/step_borders.h"

namespace tapelens::live {

using peak::HolderKind;
using peak::kHolderKinds;

// A sum that remembers its value at the last peak: when it changes for the first time after that peak, it keeps the
// value before. So a new peak costs nothing, however many sums there are.
class PeakSum {
 public:
  void add(uint64_t bytes, uint64_t peaks) {
    if (seen_ != peaks) {
      at_peak_ = live_;
      seen_ = peaks;
    }
    live_ += bytes;
  }
  uint64_t live() const { return live_; }
  uint64_t at_peak(uint64_t peaks) const { return seen_ == peaks ? at_peak_ : live_; }

 private:
  uint64_t live_ = 0, at_peak_ = 0, seen_ = 0;  // modulo 2^64: the sizes in a spool may have any value
};

// The place that allocated: the operator that the program called, the stack and the module.
struct Maker {
  uint32_t op = 0, stack = 0, module = 0;
  friend bool operator==(const Maker&, const Maker&) = default;
};

// The allocations of one maker with the same category and the same holder.
struct GroupKey {
  uint8_t device = 0;
  HolderKind kind{};
  Maker maker;
  uint32_t node_type = 0, field = 0;  // the save's, or those of the tensor that a hook returned for it; else 0
  friend bool operator==(const GroupKey&, const GroupKey&) = default;
};
struct GroupHash {
  uint64_t seed = trace::hash_seed();
  size_t operator()(const GroupKey& key) const;
};
struct Group {
  GroupKey key;
  PeakSum bytes;
};

struct StepMemory {
  uint64_t peak = 0;  // highest live bytes within the step
  uint64_t end = 0;   // live bytes at its end
};

struct DeviceMemory {
  static constexpr size_t kMostSteps = 64;

  bool is_used = false;
  uint64_t live = 0, peak = 0;
  uint64_t peaks = 1;  // counts the peaks so far: for PeakSum
  Time peak_time;
  uint64_t peak_step = 0;      // from 0
  bool is_peak_older = false;  // in steps whose events were removed: no categories are known
  std::array<PeakSum, kHolderKinds> kinds;
  History history;
  uint64_t step_peak = 0;
  std::deque<StepMemory> steps;  // the last ended ones
};

class Memory {
 public:
  explicit Memory(const Names& names) : names_(names) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void older(const trace::RecordHeader* record, Time time);  // a record of the file of older steps
  void event(const trace::RecordHeader* record, uint32_t lane, Time time);
  void gap(uint32_t lane);

  const std::array<DeviceMemory, 256>& devices() const { return devices_; }
  const std::vector<Group>& groups() const { return groups_; }
  uint64_t events() const { return events_; }
  uint64_t steps() const { return steps_; }  // that have ended
  Time last() const { return last_; }
  // The program's present phase: "backward", "optimizer", "forward", or empty.
  const char* phase() const;
  uint64_t out_of_memory() const { return out_of_memory_; }  // failed requests

 private:
  // Allocations and nodes are named by place and number, so that a late release cannot meet another one.
  struct Ref {
    uint32_t place = 0, number = 0;  // number 0: none
    explicit operator bool() const { return number != 0; }
  };
  struct Allocation {
    uint32_t number = 0;
    uint8_t device = 0, roles = 0;  // roles: a bit for each trace::Role
    bool is_counted = false;        // an allocator made it
    bool is_in_operator = false, is_in_backward = false, is_unpacked = false, waits = false;
    uint32_t saves = 0, packed = 0, contexts = 0, checkpoints = 0;
    uint64_t bytes = 0;
    Maker maker;
    uint32_t node_type = 0, field = 0;  // those of the first save
    uint32_t group = UINT32_MAX;
  };
  enum class Keeps : uint8_t { save, packed, context };
  struct Save {
    Ref allocation;
    uint32_t field = 0, index = 0;
    Keeps keeps{};
    bool until_death = false;
  };
  struct Node {
    uint32_t number = 0, type = 0;
    Maker maker;
    std::vector<Save> saves;
  };
  struct OpenOperator {
    uint32_t name = 0, stack = 0;
    bool is_engine = false;
  };
  struct OpenEvaluation {
    Ref node;
    uint8_t flags = 0;
    size_t operators = 0;  // that were open when it began
  };
  struct Lane {
    std::vector<OpenOperator> operators;
    std::vector<OpenEvaluation> evaluations;
    std::vector<uint32_t> modules;
    uint32_t backwards = 0, optimizers = 0;
    std::vector<Ref> made;  // in the open operators
  };
  using Book = trace::AddressBook<Memory, Ref, Ref>;
  friend Book;

  // The book's follower.
  void unmatched() {}
  void freed(Ref allocation);
  void freed_unseen(Ref allocation, uint64_t, uint8_t) { freed(allocation); }
  void died_unseen(Ref node, uint64_t) { drop_node(node); }
  void peaked(uint8_t device, uint64_t bytes);

  Allocation* find(Ref allocation);
  Node* find_node(Ref node);
  Ref make(uint64_t bytes, uint8_t device, bool is_counted, Lane* lane, uint32_t stack);
  Maker maker_of(const Lane& lane, uint32_t own_stack);
  void changed(uint8_t device);
  void operator_ended(Lane& lane);
  void backward_ended();
  void compact(std::vector<Ref>& of);
  static HolderKind kind_of(const Allocation& allocation);
  uint32_t group_of(const GroupKey& key);
  void count(Allocation& allocation);    // adds it to the sums of its category
  void uncount(Allocation& allocation);  // removes it from them
  template <class Change>
  void change(Ref allocation, Change change);  // and counts it for its new category
  Ref storage_at(uint64_t address, uint64_t bytes);
  void node(const trace::NodeRecord& record, uint32_t number, Lane& lane);
  void save(const trace::SaveRecord& record);
  void held(const trace::HeldRecord& record);
  void rewrite(const trace::RewriteRecord& record);
  void role(const trace::RoleRecord& record);
  void release(const Save& save);
  void release_node(Ref node);  // its saves, without those that live until it dies
  void drop_node(Ref node);
  void step_ended();

  const Names& names_;
  Book book_{*this};
  std::vector<Allocation> allocations_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> free_allocations_, free_nodes_;
  uint32_t numbers_ = 0;
  uint32_t live_allocations_ = 0;
  std::map<uint32_t, Lane> lanes_;
  std::array<DeviceMemory, 256> devices_;
  std::vector<Group> groups_;
  std::unordered_map<GroupKey, uint32_t, GroupHash> group_at_;  // into groups_
  std::vector<Ref> in_flight_;                                  // made by nodes of a backward that runs
  trace::StepBorders borders_{0};
  uint32_t backwards_ = 0, optimizers_ = 0;  // open ones
  uint64_t events_ = 0, steps_ = 0, out_of_memory_ = 0;
  Time last_;
};

}  // namespace tapelens::live
