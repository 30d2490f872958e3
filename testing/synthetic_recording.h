// A synthetic recording, sealed into a temporary folder that is removed with the object.
#pragma once

#include <cstdint>
#include <string>

#include "testing/synthetic.h"
#include "trace/result.h"

namespace tapelens::testing {

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
