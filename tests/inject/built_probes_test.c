/* Run with the preload library: a program loads the right one of the probes that `tapelens build-probe` made, and
 * continues without a probe that other users can change. Arguments: a probe, and a folder for the program itself. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/inject/calls.h"
#include "tests/inject/files.h"

#define STEM "probe-255.0-0123456789abcdef"

static int failures = 0;
static const char* own_path;
static char folder[64], list[256], probe[256];

/* A folder of built probes with one for the library of these tests. */
static void make_folder(const char* built) {
  strcpy(folder, "/tmp/tapelens-built-XXXXXX");
  must(mkdtemp(folder) != NULL, folder);
  snprintf(list, sizeof list, "%s/" STEM ".fits", folder);
  snprintf(probe, sizeof probe, "%s/" STEM ".so", folder);
  copy(built, probe);
  FILE* file = fopen(list, "w");
  must(file != NULL && fputs("tapelens-fits 1\nrelease 255.0.0\ncommit 0123456\ncore 0\ncuda 0\n", file) >= 0, list);
  must(fclose(file) == 0 && chmod(list, 0600) == 0 && chmod(probe, 0600) == 0, folder);
}

static void remove_folder(void) {
  unlink(list);
  unlink(probe);
  rmdir(folder);
}

/* Runs the program that calls LibTorch, and captures both of its outputs. */
static int run(const char* built_probes, char* output, size_t size) {
  int ends[2], status = 0;
  must(pipe(ends) == 0, "pipe");
  const pid_t child = fork();
  if (child == 0) {
    setenv("TAPELENS_BUILT_PROBES", built_probes, 1);
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    alarm(20);
    execl(own_path, own_path, "call", NULL);
    _exit(127);
  }
  close(ends[1]);
  size_t used = 0;
  for (ssize_t got; (got = read(ends[0], output + used, size - 1 - used)) > 0;) used += (size_t)got;
  output[used] = 0;
  close(ends[0]);
  must(waitpid(child, &status, 0) == child, "waitpid");
  return status;
}

/* Expects that the program ends as without Tapelens, and prints nothing or one line with these two parts. */
static void expect(const char* what, const char* built_probes, int is_loaded, const char* first, const char* second) {
  char output[4096];
  const int status = run(built_probes, output, sizeof output);
  const char* said = is_loaded && strncmp(output, "probe\n", 6) == 0 ? output + 6 : output;
  const char* end = strstr(said, "called\n");
  int is_right = status == 0 && (said != output) == is_loaded && end != NULL;
  if (first == NULL) {
    is_right = is_right && end == said;
  } else {
    is_right = is_right && strstr(said, first) != NULL && strstr(said, second) != NULL && strchr(said, '\n') + 1 == end;
  }
  if (is_right) return;
  fprintf(stderr, "%s: status %d, output:\n%s\n", what, status, output);
  ++failures;
}

static void expect_refused(const char* what, const char* path) {
  char first[512];
  snprintf(first, sizeof first, "tapelens: other users can change %s, so the probe ", path);
  expect(what, folder, 0, first, "is not loaded");
}

int main(int count, char** arguments) {
  own_path = "/proc/self/exe";
  if (count == 2 && strcmp(arguments[1], "call") == 0) {
    const four zero = {0, 0, 0, 0};
    (void)sum(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero);
    puts("called");
    return 0;
  }
  must(count == 2, "usage: built_probes_test PROBE");
  make_folder(arguments[1]);
  expect("a private probe", folder, 1, NULL, NULL);

  char link[128];
  snprintf(link, sizeof link, "%s.link", folder);
  must(symlink(folder, link) == 0, link);
  expect("by way of a link", link, 1, NULL, NULL);
  unlink(link);

  const mode_t loose[] = {0620, 0602, 0666};
  for (int i = 0; i < 3; ++i) {
    must(chmod(probe, loose[i]) == 0, probe);
    expect_refused("a probe that others can write", probe);
    must(chmod(probe, 0600) == 0, probe);
    must(chmod(list, loose[i]) == 0, list);
    expect_refused("a list that others can write", list);
    must(chmod(list, 0600) == 0, list);
    must(chmod(folder, loose[i] | 0100) == 0, folder);
    expect_refused("a folder that others can write", folder);
    must(chmod(folder, 0700) == 0, folder);
  }
  if (geteuid() == 0) {
    const char* const paths[] = {probe, list, folder};
    for (int i = 0; i < 3; ++i) {
      must(chown(paths[i], 65534, (gid_t)-1) == 0, paths[i]);
      expect_refused("of another user", paths[i]);
      must(chown(paths[i], 0, (gid_t)-1) == 0, paths[i]);
    }
  }

  must(unlink(list) == 0 && mkfifo(list, 0600) == 0, list);
  expect("a FIFO for a list", folder, 0, "tapelens: no probe for PyTorch 255.0 is installed",
         "the program runs unrecorded");
  remove_folder();
  expect("no folder", folder, 0, "tapelens: no probe for PyTorch 255.0 is installed", "the program runs unrecorded");
  if (failures == 0) printf("a probe that other users can change is not loaded\n");
  return failures != 0;
}
