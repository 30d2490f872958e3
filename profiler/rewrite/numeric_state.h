// The settings of the process and of the thread that decide which bits a cheap operator makes.
//
// They are noted with each recorded call. Where they are others when it is carried out again (the number of threads
// between forward and backward, denormals that are flushed), those of the call are set meanwhile.
#pragma once

#include <cstdint>

namespace tapelens::rewrite {

struct NumericState {
  int32_t threads = 0;         // of one operator
  uint32_t float_control = 0;  // of this thread's processor: rounding, denormals. 0 where it cannot be read
  uint32_t flags = 0;          // of at::globalContext(), a bit each
  int8_t default_type = 0;     // of results that have none of their own

  bool operator==(const NumericState&) const = default;
  uint64_t hash() const;
};

NumericState numeric_state();

// Sets the state of a call while it lives. Cheap where that is the state already.
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
