/* A fake LibTorch of a version without a probe. It has the parts that the preload library uses: the version, and the
 * function that LibTorch calls for every operator. */
#include <stdint.h>

uint64_t aoti_torch_abi_version(void) { return (uint64_t)77 << 56 | (uint64_t)3 << 48; }

int callbacks(int scope) __asm__("_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE");
int callbacks(int scope) { return scope + 1; }
