/* A fake probe for the preload library: prints that it was loaded. */
#include <stdint.h>
#include <unistd.h>

#include "profiler/inject/inject.h"

__attribute__((constructor)) static void say(void) {
  if (write(STDOUT_FILENO, "probe\n", 6) < 0) _exit(3);
}

/* `tapelens attach` starts it: the function that it replaces then returns 77. */
static int64_t in_its_place(void) { return 77; }
static void end(void) {}

__attribute__((visibility("default"))) void tapelens_start(const struct tapelens_inject_table* table) {
  table->replace(TAPELENS_step_callbacks, (void*)in_its_place);
  ((struct tapelens_inject_table*)table)->detach = end;
}
