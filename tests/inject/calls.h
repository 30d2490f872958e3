/* Two calls whose arguments use every argument register, and the stack. */
#pragma once

#include <stdint.h>

typedef float four __attribute__((vector_size(16))); /* as wide as a vector register of arguments */

struct large { /* returned in memory; on aarch64, x8 has the address */
  int64_t numbers[10];
  four vectors[10];
};

#define ARGUMENTS                                                                                               \
  int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int64_t h, int64_t i, int64_t j, \
      four k, four l, four m, four n, four o, four p, four q, four r, four s, four t

/* Names of functions that the preload library replaces by stand-ins. The first call of the first loads the probe. */
struct large all_in_memory(ARGUMENTS) __asm__("_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE");
int64_t sum(ARGUMENTS) __asm__("_ZN2at16getStepCallbacksENS_11RecordScopeE");
extern int times_asked; /* version requests by the preload library */

/* State of the fake CPython and the fake autograd engine. */
extern int python_finalizes;
extern int threads_counted_off;
void end_thread_as_python(void);
