/* A fake probe for the preload library: prints that it was loaded. */
#include <unistd.h>

__attribute__((constructor)) static void say(void) {
  if (write(STDOUT_FILENO, "probe\n", 6) < 0) _exit(3);
}
