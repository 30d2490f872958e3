/* Probes made by `tapelens build-probe`, in the user's cache. A recorded program loads one of them, so other users
 * must not be able to change or replace it. Uses only libc. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

enum tapelens_built {
  TAPELENS_BUILT_NONE,   /* no probe for this PyTorch */
  TAPELENS_BUILT_FOUND,  /* `path` is the probe */
  TAPELENS_BUILT_REFUSED /* there may be one, but other users can change `path` */
};

/* Searches `folder` for a probe of PyTorch `major`.`minor` that was compiled for the build in `root`, the folder
 * with lib/ and include/. Lists that other users can change are not read. */
enum tapelens_built tapelens_find_built(const char* folder, unsigned major, unsigned minor, const char* root,
                                        char path[4096]);

/* Whether only this user and root can change or replace the file or folder at `path`. It and all folders above it
 * must belong to one of them, and neither the group nor others may have write permission. Folders above it may be
 * writable if they are sticky, such as /tmp. Returns 1 if so. Else returns 0 and sets `refused` to the first path
 * that fails. */
int tapelens_is_private(const char* path, char refused[4096]);

#ifdef __cplusplus
}
#endif
