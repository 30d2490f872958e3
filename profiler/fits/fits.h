/* Whether a probe was compiled for the installed PyTorch, or for another build of the same minor version: a nightly, a
 * vendor's, a local one. A probe depends on the headers that it was compiled with, and every package has them beside
 * the library. Each probe has a list, probe-2.15.fits, which profiler/fits/headers.py and write_fits.c make:
 *
 *   tapelens-fits 1
 *   release 2.15.0
 *   commit d0f2af8b66b20da4baa50644c0cd3f887a2eae2e   of PyTorch; - if not known
 *   core 9a3c...                                      of all headers below except CUDA's
 *   cuda 77e1...                                      of CUDA's headers, which builds without CUDA lack
 *   c10/core/Allocator.h                              the headers, below include/
 *   ...
 *
 * Uses only libc: both the preload library and the command line contain it. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tapelens_fit {
  TAPELENS_FITS,
  TAPELENS_FITS_NOT,
  TAPELENS_FIT_UNKNOWN /* neither headers nor a commit to compare, or no list */
};

/* `list` is a probe's .fits file, `root` the folder with lib/ and include/. */
enum tapelens_fit tapelens_fits(const char* list, const char* root);

/* Writes such a list. `headers` has the names of headers of the PyTorch in `root`, one per line. Returns 0, or 1 if
 * a header or `headers` cannot be read. */
int tapelens_write_fits(const char* root, const char* release, FILE* headers, FILE* list);

/* The commit that PyTorch in `root` reports for its build; "" if it reports none. */
void tapelens_torch_commit(const char* root, char commit[64]);

#ifdef __cplusplus
}
#endif
