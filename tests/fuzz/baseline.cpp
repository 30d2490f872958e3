// Baselines: a valid baseline can be compared with itself, and no sum overflows.
#include "analyzer/compare/comparison.h"
#include "analyzer/compare/run_figures.h"
#include "tests/fuzz/files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tapelens;
  const auto read = compare::read_baseline({reinterpret_cast<const char*>(data), size});
  if (!read) {
    fuzz::must(!read.error().message.empty());
    return 0;
  }
  const auto same = compare::compare(*read, *read, {}, {});
  if (!same) fuzz::must(!same.error().message.empty());
  fuzz::must(bool{compare::read_baseline(compare::baseline_json(*read, {}, "1"))});
  return 0;
}
