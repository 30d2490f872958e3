#include "profiler/fits/built.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/fits/fits.h"

/* For a path without links. `is_above`: a folder whose relevant entries are known to be private. */
static int is_private_itself(const char* path, int is_above) {
  struct stat facts;
  if (lstat(path, &facts) != 0 || S_ISLNK(facts.st_mode)) return 0;
  if (facts.st_uid != geteuid() && facts.st_uid != 0) return 0;
  /* In a sticky folder, other users can neither remove nor rename files of this user. */
  return (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (is_above && (facts.st_mode & S_ISVTX) != 0);
}

int tapelens_is_private(const char* path, char refused[4096]) {
  if (realpath(path, refused) == NULL) {
    snprintf(refused, 4096, "%s", path);
    return 0;
  }
  for (int is_above = 0;; is_above = 1) {
    if (!is_private_itself(refused, is_above)) return 0;
    if (refused[1] == 0) return 1; /* the root */
    char* slash = strrchr(refused, '/');
    slash[slash == refused] = 0;
  }
}

/* Not a link: other users may be able to change a link's target. */
static int is_file(const char* path) {
  struct stat facts;
  return lstat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

enum tapelens_built tapelens_find_built(const char* folder, unsigned major, unsigned minor, const char* root,
                                        char path[4096]) {
  char real[4096], refused[4096];
  enum tapelens_built found = TAPELENS_BUILT_NONE;
  /* Resolves links in the path of the folder once, then checks and loads only from the resolved path. */
  DIR* entries = realpath(folder, real) != NULL ? opendir(real) : NULL;
  if (entries == NULL) return found;
  for (struct dirent* entry; found != TAPELENS_BUILT_FOUND && (entry = readdir(entries)) != NULL;) {
    unsigned first = 0, second = 0;
    int end = 0;
    if (sscanf(entry->d_name, "probe-%u.%u-%*[0-9a-f].fits%n", &first, &second, &end) != 2 || end == 0) continue;
    if (first != major || second != minor || entry->d_name[end] != 0) continue;
    char list[4096], probe[4096];
    const int stem = end - 5; /* without .fits */
    if (snprintf(list, sizeof list, "%s/%s", real, entry->d_name) >= (int)sizeof list) continue;
    if (snprintf(probe, sizeof probe, "%s/%.*s.so", real, stem, entry->d_name) >= (int)sizeof probe) continue;
    if (!is_file(list) || !is_file(probe)) continue;
    if (!tapelens_is_private(list, refused) || !tapelens_is_private(probe, refused)) {
      found = TAPELENS_BUILT_REFUSED;
      memcpy(path, refused, sizeof refused);
    } else if (tapelens_fits(list, root) == TAPELENS_FITS) {
      found = TAPELENS_BUILT_FOUND;
      memcpy(path, probe, sizeof probe);
    }
  }
  closedir(entries);
  return found;
}
