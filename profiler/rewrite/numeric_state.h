// The settings of the process and the thread that determine the bits of a repeated operator's result.
//
// Each recorded call stores them. If they differ when the call is repeated (the number of threads between forward and
// backward, flushed denormals), the call's settings are restored for its duration.
#pragma once

#include <cstdint>

namespace tapelens::rewrite {

struct NumericState {
  int32_t threads = 0;         // for one operator
  uint32_t float_control = 0;  // of this thread's processor: rounding, denormals. 0 if it cannot be read
  uint32_t flags = 0;          // of at::globalContext(), one bit each
  int8_t default_type = 0;     // of results without an explicit dtype
  uint64_t products = 0;       // precision of matrix products and convolutions; 0: the operator has none

  bool operator==(const NumericState&) const = default;
  uint64_t hash() const;
};

NumericState numeric_state(bool of_product = false);

// Sets the state of a call while it lives. Cheap if the state is the same already.
class WithNumericState {
 public:
  explicit WithNumericState(const NumericState& wanted);
  ~WithNumericState();
  WithNumericState(const WithNumericState&) = delete;
  WithNumericState& operator=(const WithNumericState&) = delete;

 private:
  const NumericState was_;
  const bool is_other_;
};

}  // namespace tapelens::rewrite
