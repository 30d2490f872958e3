// Roles of a snapshot's allocations, such as gradient, from their lifetimes and the stacks of their begin and end.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analyzer/snapshot/snapshot.h"
#include "trace/process_sealer.h"
#include "trace/shared_tables.h"

namespace tapelens::snapshot {

// Call the functions in the order of time; numbers of allocations are in that order too. Memory: a few words for each
// allocation. Each call takes constant time.
class RoleFinder {
 public:
  explicit RoleFinder(const Snapshot& snapshot) : s_(snapshot) {}

  void allocated(trace::AllocationId id, uint32_t call);
  // The program frees it; `call` is the stack of that event. At most once for each allocation.
  void given_back(trace::AllocationId id, uint32_t call);
  // Call it last. It also writes the roles of allocations that are alive then.
  void write(trace::ProcessSinks& tables, trace::SharedTables& shared);

 private:
  enum class Evidence : uint8_t {
    none,
    made_by_module,
    zeroed,
    accumulated,
    alive_in_step,
    made_as_state,
    outlives_step,
    freed_by_engine,
    freed_in_backward,
    count,
  };
  struct Allocation {
    uint32_t call = 0;
    Evidence evidence{};
    bool is_given_back = false;
  };
  struct Words {
    trace::ImportedRole role;
    std::string_view text;
  };
  static Words words(Evidence evidence);

  const StackFacts& facts(uint32_t call) const { return s_.calls[call].facts; }
  Evidence evidence_of(uint32_t number, const StackFacts* end) const;
  uint32_t last_outside_of_step() const;
  void settle_pending(bool is_in_backward);

  const Snapshot& s_;
  std::vector<Allocation> all_{Allocation{}};  // by AllocationId
  // Number of the last allocation in each phase, by index_of(); the first is for stacks without a phase.
  uint32_t last_[4] = {};
  uint32_t last_known_ = 0;        // last allocation that has a stack
  std::vector<uint32_t> pending_;  // freed after the last allocation, if that was in a backward
};

}  // namespace tapelens::snapshot
