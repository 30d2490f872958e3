/* Files of the tests of this folder. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

static void must(int condition, const char* what) {
  if (condition) return;
  perror(what);
  exit(2);
}

static void copy(const char* from, const char* to) {
  char bytes[65536];
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  must(in != NULL && out != NULL, to);
  for (size_t got; (got = fread(bytes, 1, sizeof bytes, in)) > 0;) must(fwrite(bytes, 1, got, out) == got, to);
  must(fclose(in) == 0 && fclose(out) == 0, to);
}
