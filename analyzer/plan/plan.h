// Chooses the rewrites with which a program fits in a given memory, at the least cost in time: a search over the runs
// of an experiment. `tapelens run --fit` applies its result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/experiment/runs.h"
#include "trace/result.h"
#include "trace/types.h"

namespace tapelens::plan {

using trace::Bytes;

// Rewrites, in the order of their cost in time. The promises of all of them are the same bits.
struct Choice {
  std::string level;      // "bitwise"; empty: no rewrites
  uint32_t budget = 0;    // recompute budget in percent of a step; 0: the level's
  bool offloads = false;  // all other saves go to the host's memory
  // With `offloads`, the most bytes of the host's memory; none: the rewrite's default.
  std::optional<uint64_t> host_memory{};

  friend bool operator==(const Choice&, const Choice&) = default;
};
Choice cheap();            // as good as no cost in time
Choice least();            // the least memory, without the host's
Choice least_with_host();  // the same, and all other saves go to the host's memory
// "", "--apply bitwise", "--apply recompute --recompute-budget 12%".
std::string options_of(const Choice& choice);
policy::RewriteSettings settings_of(const Choice& choice);

struct Tried : experiment::Attempt {
  Choice choice;
  // The memory that counts: reserved bytes of a GPU, else the peak on the CPU. Only if it was measured.
  Bytes bytes{};
};

enum class Stop : uint8_t { none, interrupted, failed, too_small };

struct Plan {
  Bytes size{};
  std::vector<Tried> tried;      // in the order of the runs
  std::optional<size_t> chosen;  // index into `tried`
  Stop stop{};                   // why nothing was chosen: the run without rewrites failed; no choice is small enough

  // The run that needs the least memory; null: none was measured.
  const Tried* least() const;
};

struct Constraints {
  Bytes size{};       // the most bytes
  std::string gpu;    // Variation::gpu of a device with `size`, or of the machine's own
  std::string roomy;  // Variation::gpu of a device with more memory than the program needs; may be empty
  std::optional<uint64_t> host_memory{};  // Choice::host_memory of the choices that offload; 0: try none
};

// Tries no rewrites, then the choice that needs least memory, then the choices between: at most seven. If the least is
// too much for a GPU, the choices that offload come last.
//
// A choice runs on the roomy device, so that its memory is known. If its tensors fit into the size, but not the memory
// that the allocator reserves, it runs again with `gpu`: an allocator that finds its device full frees cached memory.
trace::Result<Plan> find(experiment::Runs& runs, const Constraints& wanted);

}  // namespace tapelens::plan
