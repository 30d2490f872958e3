/* What the preload library takes for a probe: says that it was loaded. */
#include <unistd.h>

__attribute__((constructor)) static void say(void) {
  if (write(STDOUT_FILENO, "probe\n", 6) < 0) _exit(3);
}
