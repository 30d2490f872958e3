/* Prints a file's age in nanoseconds relative to the preload library's start time; positive: newer. newer_by FILE */
#include <stdio.h>
#include <sys/stat.h>

#include "profiler/inject/inject.h"

extern struct tapelens_inject_table tapelens_inject __attribute__((weak));

int main(int count, char** arguments) {
  struct stat facts;
  if (count != 2 || &tapelens_inject == NULL || stat(arguments[1], &facts) != 0) return 2;
  printf("%lld\n",
         (long long)facts.st_ctim.tv_sec * 1000000000 + facts.st_ctim.tv_nsec - (long long)tapelens_inject.began_ns);
  return 0;
}
