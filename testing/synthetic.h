// Writes a spool like that of a transformer's training, with the requested number of events: input for benchmarks of
// sealing, reading and reporting. The data is synthetic, with the proportions of a real recording.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "trace/result.h"

namespace tapelens::testing {

struct SyntheticOptions {
  uint64_t events = 10'000'000;    // of each process; it ends with the step that reaches this number
  uint64_t steps = UINT64_MAX;     // at most, and at least one
  uint32_t layers = 12;            // blocks with six parameters each
  uint32_t depth = 0;              // modules inside each other around the blocks, each with one operator
  uint32_t threads = 1;            // threads that load a batch in each step; the model uses the first one's
  uint32_t kept = 0;               // tensors of each step that the program never frees
  uint32_t processes = 1;          // ranks with the same work
  bool foreach_optimizer = false;  // operators over up to 2048 parameters, not over each
  uint64_t rate = 0;               // events a second of one process, with the times of their writing; 0: at once
  std::function<void(uint64_t)> on_pause = nullptr;  // with a rate: receives the written events each millisecond
};

inline constexpr uint32_t kMostSyntheticLayers = 100000;
inline constexpr uint32_t kMostSyntheticDepth = 4000;    // a module's path has four letters for each level
inline constexpr uint32_t kMostSyntheticThreads = 4000;  // each has a block of the spool

struct SyntheticSpool {
  uint64_t events = 0;
  uint64_t steps = 0;
};

// The spool of one process.
trace::Result<SyntheticSpool> write_synthetic_spool(const std::string& path, const SyntheticOptions& options,
                                                    uint32_t rank = 0);
// The spools of all processes, FOLDER/RANK.spool. Returns the sums.
trace::Result<SyntheticSpool> write_synthetic_spools(const std::string& folder, const SyntheticOptions& options);

// A synthetic recording, sealed into a temporary folder that is removed with the object.
class SyntheticRecording {
 public:
  static trace::Result<SyntheticRecording> make(const SyntheticOptions& options);
  SyntheticRecording(SyntheticRecording&& other) noexcept;
  SyntheticRecording(const SyntheticRecording&) = delete;
  SyntheticRecording& operator=(const SyntheticRecording&) = delete;
  ~SyntheticRecording();

  std::string path() const { return folder_ + "/run.tapelens"; }
  uint64_t events() const { return written_.events; }
  uint64_t steps() const { return written_.steps; }

 private:
  SyntheticRecording() = default;
  std::string folder_;
  SyntheticSpool written_;
};

}  // namespace tapelens::testing
