// What the parts of CUPTI share.
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

// What the environment asks for (TAPELENS_SIMULATED_CUPTI): words that are separated by commas.
struct CuptiWanted {
  bool reversed;  // records and buffers, as far as they wait
  bool drops;     // every other buffer is lost
  bool unknown;   // a record of another kind before each
  bool no_memory2, no_source, no_callbacks, refused, held;
};
const CuptiWanted& cupti_wanted();

}  // namespace tapelens::simulated
