/* Dispatches three operators of the fake LibTorch. */
#include <stdio.h>

int callbacks(int scope) __asm__("_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE");

int main(void) {
  for (int i = 0; i < 3; ++i) printf("operator %d\n", callbacks(i));
  return 0;
}
