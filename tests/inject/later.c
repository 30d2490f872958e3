/* A library that calls LibTorch and is loaded late. */
#include "tests/inject/calls.h"

__attribute__((visibility("default"))) int64_t call_later(void) {
  const four zero = {0, 0, 0, 0};
  return sum(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero);
}
