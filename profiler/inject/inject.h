/* The preload library's interface for the probe: the functions of LibTorch that it wraps.
 *
 * The preload library knows no signatures, because they change between minor versions of PyTorch while the symbol
 * stays the same. Each stand-in jumps through a slot, which holds LibTorch's own function until the probe replaces
 * it. The probe finds this table with dlsym(RTLD_DEFAULT, "tapelens_inject") and compiles the functions for the
 * slots. */
#pragma once

#include <stdint.h>

#include "profiler/inject/symbols.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TAPELENS_INJECT_VERSION 9

enum tapelens_symbol {
#define X(name, symbol) TAPELENS_##name,
  TAPELENS_SYMBOLS(X)
#undef X
      TAPELENS_symbol_count
};

struct tapelens_inject_table {
  uint32_t version; /* TAPELENS_INJECT_VERSION */
  uint32_t symbol_count;
  /* LibTorch's own function, or null if this LibTorch has no such symbol. */
  void* (*real)(enum tapelens_symbol);
  /* Redirects calls of the symbol to `function` from now on. */
  void (*replace)(enum tapelens_symbol, void* function);
  /* The probe's slot for its state of the calling thread. It is here because a library that is loaded at the start
   * accesses thread-local storage without a call. */
  void** (*thread_slot)(void);
  /* Called, if set, before _exit() and _Exit(), which run no exit handlers. May be in a signal handler. */
  void (*before_exit)(int status);
  /* Called, if set, with 1 before another program replaces this one, and with 0 if that failed. May be in a signal
   * handler, or in a child of vfork(), which shares our memory. */
  void (*around_exec)(int begins);
  /* Called, if set, on a thread that CPython ends. Returns whether code of the probe on its stack holds the GIL or
   * waits for it. */
  int (*holds_python)(void);
  /* Writes to the standard error with which the process was started. Drops the text if the program has reused that
   * descriptor for another file. */
  void (*complain)(const char* text, uint64_t bytes);
  /* Reports why this process is not recorded (TAPELENS_SPOOL) or not rewritten (TAPELENS_TALLY). `text` is one
   * sentence without its full stop. It is printed once for all processes of the run; the command line then does not
   * repeat it. */
  void (*explain)(const char* folder_variable, const char* text);
  /* The time when this library was loaded, before the program read any of its files: ns since 1970, by the clock of
   * file timestamps. */
  int64_t began_ns;
  /* A variable of trace/variables.h; null or empty: not set. */
  const char* (*setting)(const char* name);

  /* ---- `tapelens attach` loaded this library into a running program (attach.c) */
  int is_attached;
  /* Called, if set, now and then outside of all locks: finds libraries that the program has loaded since. */
  void (*look_again)(void);
  /* The probe sets it when it records. It ends the recording and takes back what the probe changed. */
  void (*detach)(void);
};

/* The function of a probe that starts it in a running program, with the table as argument. With LD_PRELOAD the probe
 * finds the table, and starts by itself. */
#define TAPELENS_START "tapelens_start"

extern struct tapelens_inject_table tapelens_inject;

#ifdef __cplusplus
}
#endif
