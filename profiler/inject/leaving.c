/* Functions by which a program ends without exit handlers: _exit() and exec. They notify the probe, then continue.
 * Each may be called in a signal handler, exec also in a child of vfork(): they do not allocate, look up symbols or
 * take locks. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/inject/inject.h"

#define EXPORT __attribute__((visibility("default")))

extern char** environ;

/* The functions behind ours, of libc or of another preloaded library. */
static void (*real_exit)(int);
static int (*real_execve)(const char*, char* const[], char* const[]);
static int (*real_execvpe)(const char*, char* const[], char* const[]);
static int (*real_fexecve)(int, char* const[], char* const[]);
static int (*real_execveat)(int, const char*, char* const[], char* const[], int);

__attribute__((constructor)) static void find_real(void) {
  real_exit = (void (*)(int))dlsym(RTLD_NEXT, "_exit");
  real_execve = (int (*)(const char*, char* const[], char* const[]))dlsym(RTLD_NEXT, "execve");
  real_execvpe = (int (*)(const char*, char* const[], char* const[]))dlsym(RTLD_NEXT, "execvpe");
  real_fexecve = (int (*)(int, char* const[], char* const[]))dlsym(RTLD_NEXT, "fexecve");
  real_execveat = (int (*)(int, const char*, char* const[], char* const[], int))dlsym(RTLD_NEXT, "execveat");
}

EXPORT __attribute__((noreturn)) void _exit(int status) {
  void (*before)(int) = __atomic_load_n(&tapelens_inject.before_exit, __ATOMIC_ACQUIRE);
  if (before != NULL) before(status);
  if (real_exit != NULL) real_exit(status);
  for (;;) syscall(SYS_exit_group, status);
}

EXPORT __attribute__((noreturn)) void _Exit(int status) { _exit(status); }

static void exec_begins(void) {
  void (*around)(int) = __atomic_load_n(&tapelens_inject.around_exec, __ATOMIC_ACQUIRE);
  if (around != NULL) around(1);
}

static int exec_failed(int answer) {
  void (*around)(int) = __atomic_load_n(&tapelens_inject.around_exec, __ATOMIC_ACQUIRE);
  if (around != NULL) around(0);
  return answer;
}

EXPORT int execve(const char* path, char* const arguments[], char* const environment[]) {
  exec_begins();
  return exec_failed(real_execve != NULL ? real_execve(path, arguments, environment)
                                         : (int)syscall(SYS_execve, path, arguments, environment));
}

EXPORT int execv(const char* path, char* const arguments[]) { return execve(path, arguments, environ); }

EXPORT int execvpe(const char* file, char* const arguments[], char* const environment[]) {
  if (real_execvpe == NULL) find_real(); /* another library's constructor may run before ours */
  exec_begins();
  return exec_failed(real_execvpe(file, arguments, environment));
}

EXPORT int execvp(const char* file, char* const arguments[]) { return execvpe(file, arguments, environ); }

EXPORT int fexecve(int file, char* const arguments[], char* const environment[]) {
  if (real_fexecve == NULL) find_real();
  exec_begins();
  return exec_failed(real_fexecve(file, arguments, environment));
}

EXPORT int execveat(int folder, const char* path, char* const arguments[], char* const environment[], int flags) {
  if (real_execveat == NULL) find_real();
  exec_begins();
  return exec_failed(real_execveat(folder, path, arguments, environment, flags));
}

/* The arguments of execl() and similar functions, as an array on the caller's stack. */
#define COLLECT(first, list, array)                                                       \
  size_t count = 0;                                                                       \
  va_list list;                                                                           \
  va_start(list, first);                                                                  \
  for (const char* word = first; word != NULL; word = va_arg(list, const char*)) ++count; \
  va_end(list);                                                                           \
  char* array[count + 1];                                                                 \
  va_start(list, first);                                                                  \
  array[0] = (char*)first;                                                                \
  for (size_t i = 1; i <= count; ++i) array[i] = va_arg(list, char*)

EXPORT int execl(const char* path, const char* first, ...) {
  COLLECT(first, list, arguments);
  va_end(list);
  return execve(path, arguments, environ);
}

EXPORT int execlp(const char* file, const char* first, ...) {
  COLLECT(first, list, arguments);
  va_end(list);
  return execvpe(file, arguments, environ);
}

EXPORT int execle(const char* path, const char* first, ...) {
  COLLECT(first, list, arguments);
  char** environment = va_arg(list, char**);
  va_end(list);
  return execve(path, arguments, environment);
}
