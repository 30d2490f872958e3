/* A fake LibTorch for the preload library. */
#include <pthread.h>
#include <stddef.h>

#include "tests/inject/calls.h"

int times_asked = 0;

/* The preload library calls this in the first call. It overwrites every argument register. */
uint64_t aoti_torch_abi_version(void) {
  ++times_asked;
#if defined(__x86_64__)
  __asm__ volatile(
      "mov $-1, %%rdi; mov $-1, %%rsi; mov $-1, %%rdx; mov $-1, %%rcx; mov $-1, %%r8; mov $-1, %%r9;"
      "pcmpeqd %%xmm0, %%xmm0; pcmpeqd %%xmm1, %%xmm1; pcmpeqd %%xmm2, %%xmm2; pcmpeqd %%xmm3, %%xmm3;"
      "pcmpeqd %%xmm4, %%xmm4; pcmpeqd %%xmm5, %%xmm5; pcmpeqd %%xmm6, %%xmm6; pcmpeqd %%xmm7, %%xmm7"
      :
      :
      : "rdi", "rsi", "rdx", "rcx", "r8", "r9", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
#elif defined(__aarch64__)
  __asm__ volatile(
      "mov x0, #-1; mov x1, #-1; mov x2, #-1; mov x3, #-1; mov x4, #-1; mov x5, #-1; mov x6, #-1; mov x7, #-1;"
      "mov x8, #-1; movi v0.16b, #255; movi v1.16b, #255; movi v2.16b, #255; movi v3.16b, #255;"
      "movi v4.16b, #255; movi v5.16b, #255; movi v6.16b, #255; movi v7.16b, #255"
      :
      :
      : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7");
#else
#error "which registers have arguments?"
#endif
  return (uint64_t)255 << 56; /* a version without a probe */
}

struct large all_in_memory(ARGUMENTS) {
  return (struct large){{a, b, c, d, e, f, g, h, i, j}, {k, l, m, n, o, p, q, r, s, t}};
}

int64_t sum(ARGUMENTS) {
  const four all = k + 2 * l + 3 * m + 4 * n + 5 * o + 6 * p + 7 * q + 8 * r + 9 * s + 10 * t;
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j +
         (int64_t)(all[0] + all[1] + all[2] + all[3]);
}

int python_finalizes = 0;
int _Py_IsFinalizing(void) { return python_finalizes; }
void end_thread_as_python(void) { pthread_exit(NULL); }

int threads_counted_off = 0;
void* default_engine(void) __asm__("_ZN5torch8autograd6Engine18get_default_engineEv");
void* default_engine(void) { return &threads_counted_off; }
void count_off(int* engine) __asm__("_ZN5torch8autograd6Engine36decrement_non_reentrant_thread_countEv");
void count_off(int* engine) { ++*engine; }
