// Shared by the parts of CUPTI.
#pragma once

#include <cstdint>

namespace tapelens::simulated {

// CUptiResult
enum Cupti : int {
  kCuptiSuccess = 0,
  kCuptiInvalidParameter = 1,
  kCuptiInvalidOperation = 7,
  kCuptiNoMore = 12,
  kCuptiInvalidKind = 21,
  kCuptiNotSupported = 27,
  kCuptiNotPermitted = 35,
  kCuptiHeld = 39,
};

// Requests in the environment (TAPELENS_SIMULATED_CUPTI): words separated by commas.
struct CuptiWanted {
  bool reversed;  // reverse the waiting records and buffers
  bool drops;     // lose every other buffer
  bool unknown;   // add a record of another kind before each
  bool no_memory2, no_source, no_callbacks, refused, held;
};
const CuptiWanted& cupti_wanted();

}  // namespace tapelens::simulated
