/* What the preload library offers to the probe: the functions of LibTorch that it stands in front of.
 *
 * The preload library knows no signature (they change between PyTorch minors without the symbol's name changing): each
 * stand-in jumps through a slot that holds LibTorch's own function until the probe puts another there. The probe finds
 * this table with dlsym(RTLD_DEFAULT, "tapelens_inject") and compiles the functions behind the slots. */
#pragma once

#include <stdint.h>

#include "profiler/inject/symbols.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TAPELENS_INJECT_VERSION 7

enum tapelens_symbol {
#define X(name, symbol) TAPELENS_##name,
  TAPELENS_SYMBOLS(X)
#undef X
      TAPELENS_symbol_count
};

struct tapelens_inject_table {
  uint32_t version; /* TAPELENS_INJECT_VERSION */
  uint32_t symbol_count;
  /* LibTorch's own function, or null when this LibTorch has none of that name. */
  void* (*real)(enum tapelens_symbol);
  /* What calls to the symbol go to from now on. */
  void (*replace)(enum tapelens_symbol, void* function);
  /* The probe's place for its state of the calling thread; here because a library that is there from the start has
   * thread-local storage without a call. */
  void** (*thread_slot)(void);
  /* Called, if set, before _exit() and _Exit(), which run no exit handlers. Perhaps in a signal handler. */
  void (*before_exit)(int status);
  /* Called, if set, with 1 before another program takes the place of this one, and with 0 when that failed. Perhaps in
   * a signal handler, or in a child of vfork(), which runs in our memory. */
  void (*around_exec)(int begins);
  /* Asked, if set, on a thread that CPython ends: whether code of the probe on its stack holds the interpreter's lock
   * or waits for it. */
  int (*holds_python)(void);
  /* Writes to the standard error that the process was started with. Once the program has given that number to another
   * file, there is nowhere to say anything. */
  void (*complain)(const char* text, uint64_t bytes);
  /* Why nothing is recorded (TAPELENS_SPOOL) or rewritten (TAPELENS_TALLY) in this process: one sentence without its
   * end, for all processes of the run together, which the command line then need not say. */
  void (*explain)(const char* folder_variable, const char* text);
  /* When this library was loaded, before the program read any file of its own: ns since 1970, by the clock that files
   * are stamped with. */
  int64_t began_ns;
};

extern struct tapelens_inject_table tapelens_inject;

#ifdef __cplusplus
}
#endif
