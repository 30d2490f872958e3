// Predicts the live bytes of a device without some of the holders.
//
// An allocation ends when its last holder releases it. Holders are its saves, until each is released, and the program.
// The program holds it until its last use by an operator, and while frames of module calls that got it exist. A free at
// another moment than the release of a save shows that the program held it until then.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/model/provenance.h"
#include "analyzer/peak/holders.h"
#include "analyzer/peak/timeline.h"

namespace tapelens::peak {

// Changes of the recorded allocations: removed holders and extra memory. All fields add up. Several WhatIfs together
// count each allocation once, and release it only when every holder is gone.
struct WhatIf {
  // These hold nothing.
  std::vector<SaveId> without;
  // Holders other than saves release the allocation at this time at the latest (gradients stepped early, a detached
  // graph). A time before its birth: the program never makes it.
  struct End {
    AllocationId allocation;
    Time at;
  };
  std::vector<End> ends;
  // The copy is never made: its holders hold the source.
  struct Alias {
    AllocationId copy, source;
  };
  std::vector<Alias> aliases;
  // Extra bytes during `when`, if `instead_of` ends earlier than recorded (none: always). Examples are masks,
  // recomputed tensors, and a preallocated buffer.
  struct Extra {
    AllocationId instead_of;
    Interval when;
    Bytes bytes;
    bool is_saved = false;  // kept for the backward, as the memory that it replaces
  };
  std::vector<Extra> extras;

  // `instead_of` is recomputed from `source` at its next use; `source` stays alive until then.
  struct Keep {
    AllocationId instead_of, source;
    Time until;
  };
  std::vector<Keep> keeps{};

  // The program never makes the allocation.
  void never_make(const Process& process, AllocationId allocation) {
    ends.push_back({allocation, Time{process.allocations.time[allocation].ns - 1}});
  }

  bool empty() const { return without.empty() && ends.empty() && aliases.empty() && extras.empty(); }
};

// The time at which the program itself released each allocation. Computed once for a process.
class Lifetimes {
 public:
  Lifetimes(const Process& process, const Provenance& provenance);
  // A recording cannot tell when the program released an allocation that a save held to its end. The constructor above
  // assumes the release after the last use. This one assumes that variables of functions hold tensors longer: until the
  // return of the module call that made and used the allocation, or else until the next backward. torch.nn.Sequential
  // passes on its one variable.
  Lifetimes(const Process& process, const Provenance& provenance, const Text& held_by_variables);

  // The end without any save. Not after the recorded end.
  Time program_end(AllocationId allocation) const { return Time{program_end_[allocation.value]}; }
  // The end of the last use by an operator outside the nodes that saved it; its birth if it has no such use.
  Time last_use(AllocationId allocation) const { return Time{last_use_[allocation.value]}; }
  // The last release of a save before it was freed; kNever if it is saved to the end, its birth if it never was.
  Time last_release(AllocationId allocation) const { return Time{last_release_[allocation.value]}; }
  // Whether its recorded end is the release of a save.
  bool ends_with_save(AllocationId allocation) const { return ends_with_save_[allocation.value] != 0; }

  const Process& process() const { return process_; }
  const Provenance& provenance() const { return provenance_; }

 private:
  Lifetimes(const Process& process, const Provenance& provenance, const Text* held_by_variables);

  const Process& process_;
  const Provenance& provenance_;
  std::vector<int64_t> program_end_, last_use_, last_release_;
  std::vector<uint8_t> ends_with_save_;
};

// Reads a Timeline without changing it. Construction is cheap, so that callers can predict again for each selection of
// findings.
class Replay {
 public:
  // The peak is the highest point from `since` on; allocations that are alive at `since` count.
  Replay(const Lifetimes& lifetimes, const Timeline& timeline, Time since = Time{0})
      : lifetimes_(lifetimes), timeline_(timeline), since_(since) {}

  struct Outcome {
    Bytes peak;           // the peak of the changed curve
    Moment when;          // its first such moment
    Bytes most_retained;  // the largest difference between the curves at one moment
    // Changed lifetimes by allocation id: [birth, end). An end at or before the birth: never made.
    struct Changed {
      AllocationId allocation;
      Time end;
    };
    std::vector<Changed> changed;
    // The difference of the curves: from this event of the timeline on, the curve is lower by this value (negative:
    // higher).
    struct Lower {
      uint32_t event;
      int64_t bytes;
    };
    std::vector<Lower> lower;
    Time end(const Process& process, AllocationId allocation) const;
  };
  Outcome without(std::span<const WhatIf* const> changes) const;
  Outcome without(const WhatIf& change) const {
    const WhatIf* const one[] = {&change};
    return without(one);
  }

 private:
  const Lifetimes& lifetimes_;
  const Timeline& timeline_;
  Time since_;
};

// The peak set of the changed curve: its live allocations with their holders, without the removed saves. Members do not
// include extra memory (WhatIf::extras), so they may sum to less than the peak.
PeakSet peak_set_without(const Process& process, const Text& text, DeviceId device, const Replay::Outcome& outcome,
                         std::span<const WhatIf* const> changes);

// ---- the bytes kept only for the backward: measured in the recorded run, or predicted with changes. One formula
// computes both, so the prediction of `tapelens advise --apply` and the measurement of `tapelens verify` are comparable

// A prediction: the changes of a replay, and its outcome.
struct Replayed {
  const Replay::Outcome& outcome;
  std::span<const WhatIf* const> changes;
};

// The most bytes on the timeline's device at the begin of a backward, from `since` on. In a process without a backward:
// at any moment. It counts each allocation once that a save holds and the program has released. It also counts the
// memory that rewrites keep in place of others, in the run (Rewrites::kept) or as predicted (WhatIf::Extra::is_saved).
// Parameters, buffers, gradients and optimizer state do not count, because they stay without the save. `predicted`:
// with these changes; null: as recorded.
Bytes saved_for_backward(const Lifetimes& lifetimes, const Timeline& timeline, Time since,
                         const Replayed* predicted = nullptr);

}  // namespace tapelens::peak
