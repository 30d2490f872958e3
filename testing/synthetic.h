// Writes a spool like that of a transformer's training, with the requested number of events: input for benchmarks of
// sealing, reading and reporting. The data is synthetic, with the proportions of a real recording.
#pragma once

#include <cstdint>
#include <string>

#include "trace/result.h"

namespace tapelens::testing {

struct SyntheticOptions {
  uint64_t events = 10'000'000;  // ends with the step that reaches this number
  uint32_t layers = 12;
};

struct SyntheticSpool {
  uint64_t events = 0;
  uint64_t steps = 0;
};

trace::Result<SyntheticSpool> write_synthetic_spool(const std::string& path, const SyntheticOptions& options);

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
