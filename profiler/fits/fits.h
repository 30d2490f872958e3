/* Whether a probe was compiled for the PyTorch that is there, or for another build of the same minor: a nightly, a
 * vendor's, one's own. What a probe relies on are the headers that it was compiled with; they are beside the library in
 * every package. Beside each probe is a list, probe-2.15.fits, which profiler/fits/headers.py and write_fits.c make:
 *
 *   tapelens-fits 1
 *   release 2.15.0
 *   commit d0f2af8b66b20da4baa50644c0cd3f887a2eae2e   of PyTorch; - if it was not known
 *   core 9a3c...                                      of all headers below but CUDA's
 *   cuda 77e1...                                      of those of CUDA, which a build without it does not have
 *   c10/core/Allocator.h                              the headers, below include/
 *   ...
 *
 * libc alone: the preload library has it, the command line too. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tapelens_fit {
  TAPELENS_FITS,
  TAPELENS_FITS_NOT,
  TAPELENS_FIT_UNKNOWN /* there is nothing to tell by: neither headers nor a commit; or no list */
};

/* `list` is a probe's .fits, `root` the folder that has lib/ and include/. */
enum tapelens_fit tapelens_fits(const char* list, const char* root);

/* Writes such a list: `headers` has the names of headers, one a line, of the PyTorch in `root`. Returns 0, or 1 if a
 * header or `headers` cannot be read. */
int tapelens_write_fits(const char* root, const char* release, FILE* headers, FILE* list);

/* The commit that PyTorch in `root` was built from, as it says itself; "" if it does not. */
void tapelens_torch_commit(const char* root, char commit[64]);

#ifdef __cplusplus
}
#endif
