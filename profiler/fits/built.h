/* The probes that `tapelens build-probe` made, in the user's cache. A program that is recorded loads one of them, so
 * each must be a file that no other user can change or replace. libc alone. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

enum tapelens_built {
  TAPELENS_BUILT_NONE,   /* no probe for this PyTorch */
  TAPELENS_BUILT_FOUND,  /* `path` is the probe */
  TAPELENS_BUILT_REFUSED /* there may be one; other users can change `path` */
};

/* Looks in `folder` for a probe of PyTorch `major`.`minor` that was compiled for the build in `root`, which has lib/
 * and include/. A list that other users can change is not read. */
enum tapelens_built tapelens_find_built(const char* folder, unsigned major, unsigned minor, const char* root,
                                        char path[4096]);

/* Whether only this user and root can change the file or folder at `path`, and put another in its place: it and all
 * folders above it belong to one of them, and neither the group nor others may write. Others may write to a folder
 * above it that is sticky, such as /tmp. Returns 1 if so. Else 0, and `refused` is the path of the first that is not
 * so. */
int tapelens_is_private(const char* path, char refused[4096]);

#ifdef __cplusplus
}
#endif
