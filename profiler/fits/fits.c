#include "profiler/fits/fits.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct digests {
  uint64_t core, cuda;
  bool has_cuda;   /* one of its headers exists */
  bool lacks_cuda; /* one of its headers is missing */
  bool lacks_core; /* one of the other headers is missing */
};

static bool is_of_cuda(const char* header) {
  return strncmp(header, "c10/cuda/", 9) == 0 || strncmp(header, "ATen/cuda/", 10) == 0;
}

/* FNV-1a: these files need no protection against forgery. */
static uint64_t hashed(uint64_t hash, const unsigned char* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
  return hash;
}

/* Opening a FIFO would wait for its writer, and a device may be endless. -1: not a regular file. */
static int open_file(const char* path) {
  const int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  struct stat facts;
  if (file < 0 || (fstat(file, &facts) == 0 && S_ISREG(facts.st_mode))) return file;
  close(file);
  return -1;
}

static FILE* open_text(const char* path) {
  const int number = open_file(path);
  FILE* file = number >= 0 ? fdopen(number, "r") : NULL;
  if (file == NULL && number >= 0) close(number);
  return file;
}

static bool add_file(uint64_t* hash, const char* root, const char* header) {
  char path[4096];
  unsigned char bytes[16384];
  if (snprintf(path, sizeof path, "%s/include/%s", root, header) >= (int)sizeof path) return false;
  const int file = open_file(path);
  if (file < 0) return false;
  *hash = hashed(*hash, (const unsigned char*)header, strlen(header) + 1);
  ssize_t got;
  while ((got = read(file, bytes, sizeof bytes)) > 0) *hash = hashed(*hash, bytes, (size_t)got);
  close(file);
  return got == 0;
}

static void add_header(struct digests* digests, const char* root, const char* header) {
  if (is_of_cuda(header)) {
    if (add_file(&digests->cuda, root, header))
      digests->has_cuda = true;
    else
      digests->lacks_cuda = true;
  } else if (!add_file(&digests->core, root, header)) {
    digests->lacks_core = true;
  }
}

static const struct digests no_digests = {UINT64_C(0xcbf29ce484222325), UINT64_C(0xcbf29ce484222325), false, false,
                                          false};

static bool next_line(char* line, size_t size, FILE* file) {
  if (fgets(line, (int)size, file) == NULL) return false;
  line[strcspn(line, "\n")] = 0;
  return true;
}

/* The text between quotes in `line`, or the line itself. */
static void copy_commit(char commit[64], const char* line) {
  const char* begin = strpbrk(line, "'\"");
  begin = begin != NULL ? begin + 1 : line;
  const size_t length = strspn(begin, "0123456789abcdef");
  if (length < 7 || length > 63) return;
  memcpy(commit, begin, length);
  commit[length] = 0;
}

void tapelens_torch_commit(const char* root, char commit[64]) {
  char path[4096], line[512];
  commit[0] = 0;
  const char* const names[] = {"version.py", "build-hash"}; /* in a Python package, in LibTorch */
  for (int i = 0; i < 2 && commit[0] == 0; ++i) {
    if (snprintf(path, sizeof path, "%s/%s", root, names[i]) >= (int)sizeof path) return;
    FILE* file = open_text(path);
    if (file == NULL) continue;
    while (next_line(line, sizeof line, file))
      if (i == 1 || strncmp(line, "git_version", 11) == 0) copy_commit(commit, line);
    fclose(file);
  }
}

static bool has_headers(const char* root) {
  char path[4096];
  snprintf(path, sizeof path, "%s/include/ATen", root);
  return access(path, R_OK) == 0;
}

enum tapelens_fit tapelens_fits(const char* list, const char* root) {
  FILE* file = open_text(list);
  if (file == NULL) return TAPELENS_FIT_UNKNOWN;
  char line[1024], commit[64] = "", here[64];
  unsigned long long core = 0, cuda = 0;
  bool is_list = next_line(line, sizeof line, file) && strcmp(line, "tapelens-fits 1") == 0;
  is_list = is_list && next_line(line, sizeof line, file);
  is_list = is_list && next_line(line, sizeof line, file) && sscanf(line, "commit %63s", commit) == 1;
  is_list = is_list && next_line(line, sizeof line, file) && sscanf(line, "core %llx", &core) == 1;
  is_list = is_list && next_line(line, sizeof line, file) && sscanf(line, "cuda %llx", &cuda) == 1;
  if (!is_list || !has_headers(root)) {
    fclose(file);
    tapelens_torch_commit(root, here);
    if (!is_list || here[0] == 0 || commit[0] == '-') return TAPELENS_FIT_UNKNOWN;
    return strcmp(here, commit) == 0 ? TAPELENS_FITS : TAPELENS_FITS_NOT;
  }
  struct digests digests = no_digests;
  while (next_line(line, sizeof line, file)) add_header(&digests, root, line);
  fclose(file);
  if (digests.lacks_core || digests.core != core) return TAPELENS_FITS_NOT;
  if (digests.has_cuda && (digests.lacks_cuda || digests.cuda != cuda)) return TAPELENS_FITS_NOT;
  return TAPELENS_FITS;
}

int tapelens_write_fits(const char* root, const char* release, FILE* headers, FILE* list) {
  struct digests digests = no_digests;
  char line[1024], commit[64];
  int count = 0;
  for (; next_line(line, sizeof line, headers); ++count) add_header(&digests, root, line);
  if (count == 0 || digests.lacks_core || digests.lacks_cuda) return 1;
  tapelens_torch_commit(root, commit);
  fprintf(list, "tapelens-fits 1\nrelease %s\ncommit %s\ncore %016llx\ncuda %016llx\n", release,
          commit[0] != 0 ? commit : "-", (unsigned long long)digests.core, (unsigned long long)digests.cuda);
  rewind(headers);
  while (next_line(line, sizeof line, headers)) fprintf(list, "%s\n", line);
  return ferror(list) || fflush(list) != 0;
}
