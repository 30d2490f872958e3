// What each allocation of a snapshot is, where its life and the stacks of its begin and its end show it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analyzer/snapshot/snapshot.h"
#include "trace/process_sealer.h"
#include "trace/shared_tables.h"

namespace tapelens::snapshot {

// Told what happens in the order of time; numbers of allocations are in that order too. It keeps a few words for each
// allocation, and nothing that happens costs more than a step.
class RoleFinder {
 public:
  explicit RoleFinder(const Snapshot& snapshot) : s_(snapshot) {}

  void allocated(trace::AllocationId id, uint32_t call);
  // By the program: an event's call. Once each.
  void given_back(trace::AllocationId id, uint32_t call);
  // At the end: of what is alive, too.
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
  // Numbers of the last allocation in each phase; the first is of those whose stack shows none.
  uint32_t last_[4] = {};
  uint32_t last_known_ = 0;        // that has a stack
  std::vector<uint32_t> pending_;  // given back since the last allocation, which was in a backward
};

}  // namespace tapelens::snapshot
