// Writes a spool as a transformer's training would, with as many events as asked for: the input of the benches that
// measure sealing, reading and reporting. Everything in it is made up, its proportions are those of a real recording.
#pragma once

#include <cstdint>
#include <string>

#include "trace/result.h"

namespace tapelens::testing {

struct SyntheticOptions {
  uint64_t events = 10'000'000;  // the step that reaches them is finished
  uint32_t layers = 12;
};

struct SyntheticSpool {
  uint64_t events = 0;
  uint64_t steps = 0;
};

trace::Result<SyntheticSpool> write_synthetic_spool(const std::string& path, const SyntheticOptions& options);

}  // namespace tapelens::testing
