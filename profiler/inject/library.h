/* Shared by the parts of the preload library. */
#pragma once

#include <stdint.h>

#include "profiler/inject/inject.h"

#define TAPELENS_HIDDEN __attribute__((visibility("hidden")))

/* A function of a loaded library, or null. */
TAPELENS_HIDDEN void* tapelens_in_library(const char* library, const char* name);
TAPELENS_HIDDEN const char* tapelens_symbol_name(enum tapelens_symbol symbol);

/* ---- attach.c */

/* Called once, first of all: this library was loaded by `tapelens attach`. `settings`: "NAME=VALUE", each with its
 * zero, in place of the environment. */
TAPELENS_HIDDEN void tapelens_begin_attached(const char* settings, uint64_t bytes);
/* Whether the probe is loaded; if not, the reason was reported. */
TAPELENS_HIDDEN int tapelens_load_probe(void);

/* For Python code inside the program, which holds the GIL. Returns 1 if the program is recorded now. Returns 0 if it is
 * not, after tapelens_inject.explain(). */
int tapelens_attach(const char* settings, uint64_t bytes);
/* Ends the recording, and takes back what tapelens_attach() changed. */
void tapelens_detach(void);
