/* The preload library in a program that runs already (profiler/inject/attach.c): calls that the dynamic linker has
 * resolved go to the probe, and after the end to LibTorch again; in this program, and in a library that is loaded
 * later. Arguments: the preload library, a probe, and a library that calls LibTorch. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/inject/inject.h"
#include "tests/inject/calls.h"
#include "tests/inject/files.h"

static int failures = 0;
#define EXPECT(condition) \
  if (!(condition)) fprintf(stderr, "line %d: %s\n", __LINE__, #condition), ++failures

static const four zero = {0, 0, 0, 0};
static int64_t call(void) {
  return sum(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero);
}

static char folder[64] = "/tmp/tapelens-attach-XXXXXX";

/* Loads a copy of the preload library and attaches. */
static void* attach(const char* library, int number, int expected) {
  char path[256], settings[1024];
  snprintf(path, sizeof path, "%s/%d.attached-inject.so", folder, number);
  copy(library, path);
  must(chmod(path, 0600) == 0, path);
  void* loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  must(loaded != NULL, path);
  unlink(path);
  const int bytes = snprintf(settings, sizeof settings,
                             "TAPELENS_SPOOL=%s%cTAPELENS_ATTACH=%d%cTAPELENS_LIBRARIES=/nowhere%c"
                             "TAPELENS_BUILT_PROBES=%s",
                             folder, 0, number, 0, 0, expected ? folder : "/nowhere");
  int (*begin)(const char*, uint64_t) = (int (*)(const char*, uint64_t))dlsym(loaded, "tapelens_attach");
  must(begin != NULL, "tapelens_attach");
  EXPECT(begin(settings, (uint64_t)bytes) == expected);
  return loaded;
}

static void detach(void* loaded) {
  void (*end)(void) = (void (*)(void))dlsym(loaded, "tapelens_detach");
  must(end != NULL, "tapelens_detach");
  end();
}

int main(int count, char** arguments) {
  must(count == 4, "usage: attach_test LIBRARY PROBE CALLER");
  must(mkdtemp(folder) != NULL, folder);
  char list[256], probe[256];
  snprintf(list, sizeof list, "%s/probe-255.0-0123456789abcdef.fits", folder);
  snprintf(probe, sizeof probe, "%s/probe-255.0-0123456789abcdef.so", folder);
  copy(arguments[2], probe);
  must(chmod(probe, 0600) == 0, probe);
  FILE* file = fopen(list, "w");
  must(file != NULL && fputs("tapelens-fits 1\nrelease 255.0.0\ncommit 0123456\ncore 0\ncuda 0\n", file) >= 0, list);
  must(fclose(file) == 0 && chmod(list, 0600) == 0, list);

  EXPECT(call() == 1); /* resolved */
  for (int number = 1; number <= 3; ++number) {
    void* loaded = attach(arguments[1], number, 1);
    EXPECT(call() == 77);
    struct large unchanged =
        all_in_memory(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero);
    EXPECT(unchanged.numbers[9] == 10);
    /* A library that comes later calls LibTorch until the next look. */
    void* later = dlopen(arguments[3], RTLD_NOW | RTLD_LOCAL);
    must(later != NULL, arguments[3]);
    int64_t (*from_later)(void) = (int64_t(*)(void))dlsym(later, "call_later");
    const struct tapelens_inject_table* table = (struct tapelens_inject_table*)dlsym(loaded, "tapelens_inject");
    must(from_later != NULL && table != NULL && table->look_again != NULL, "look_again");
    EXPECT(from_later() == 1);
    table->look_again();
    EXPECT(from_later() == 77);
    detach(loaded);
    EXPECT(call() == 1);
    EXPECT(from_later() == 1);
    dlclose(later);
  }
  /* Without a probe nothing changes. */
  attach(arguments[1], 4, 0);
  EXPECT(call() == 1);
  unlink(list);
  unlink(probe);
  char said[256]; /* the reason, without a file "explanation" */
  snprintf(said, sizeof said, "%s/said", folder);
  EXPECT(unlink(said) == 0);
  rmdir(folder);
  EXPECT(access(folder, F_OK) != 0);
  if (failures == 0) printf("calls go to the probe while it is attached, and back\n");
  return failures != 0;
}
