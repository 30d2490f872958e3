/* The preload library. It needs only libc, and does nothing until LibTorch dispatches its first operator in this
 * process. Then it loads the probe for that minor version of PyTorch. It wraps neither dlopen nor main: the first
 * operator reaches it through a function that LibTorch calls for every operator. */
#define _GNU_SOURCE
#include "profiler/inject/inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "policy/variables.h"
#include "profiler/fits/built.h"
#include "profiler/fits/fits.h"
#include "profiler/inject/library.h"
#include "profiler/inject/mark.h"
#include "simulated/settings/variables.h"
#include "trace/variables.h"

extern void* tapelens_slots[TAPELENS_symbol_count] __attribute__((visibility("hidden")));
extern void* const tapelens_stubs[TAPELENS_symbol_count] __attribute__((visibility("hidden"))); /* initial slots */

static const char* const symbol_names[TAPELENS_symbol_count] = {
#define X(name, symbol) symbol,
    TAPELENS_SYMBOLS(X)
#undef X
};

static __thread void* thread_state __attribute__((tls_model("initial-exec")));
static void** thread_slot(void) { return &thread_state; }

static struct stat standard_error; /* at the start of the process; all zeros if it was closed */

__attribute__((constructor)) static void look_at_standard_error(void) { fstat(STDERR_FILENO, &standard_error); }

static const char* attached_settings; /* "NAME=VALUE", each with its zero, and an empty one; null: not attached */

/* The value of a variable of trace/variables.h, from the environment. For an attached program, from the command line:
 * the program's environment is unchanged. */
static const char* setting(const char* name) {
  if (attached_settings == NULL) return getenv(name);
  const size_t bytes = strlen(name);
  for (const char* one = attached_settings; *one != 0; one += strlen(one) + 1)
    if (strncmp(one, name, bytes) == 0 && one[bytes] == '=') return one + bytes + 1;
  return NULL;
}

static int is_set(const char* variable) {
  const char* text = setting(variable);
  return text != NULL && *text != 0;
}

/* Opens a file in the folder of spools or tallies; -1 on failure. */
static int open_in(const char* folder_variable, const char* name, int flags) {
  char path[4096];
  const char* folder = setting(folder_variable);
  if (folder == NULL || snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return -1;
  return open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* Returns whether the text was written to the original standard error. */
static int try_to_complain(const char* text, uint64_t bytes) {
  struct stat now;
  if (is_set(TAPELENS_QUIET) || fstat(STDERR_FILENO, &now) != 0) return 0;
  if (now.st_dev != standard_error.st_dev || now.st_ino != standard_error.st_ino) return 0;
  return write(STDERR_FILENO, text, bytes) >= 0;
}

/* The standard error of an attached program is not the user's who attached: the command line prints the lines. */
static void complain(const char* text, uint64_t bytes) {
  if (attached_settings == NULL) {
    try_to_complain(text, bytes);
    return;
  }
  const int file = open_in(TAPELENS_SPOOL, TAPELENS_SAID, O_WRONLY | O_CREAT | O_APPEND);
  if (file < 0) return;
  const ssize_t written = write(file, text, bytes);
  (void)written;
  close(file);
}

static void explain(const char* folder_variable, const char* text) {
  char line[TAPELENS_EXPLANATION_BYTES];
  int bytes = snprintf(line, sizeof line, "tapelens: %s\n", text);
  if (bytes < 0) return;
  if (bytes >= (int)sizeof line) {
    bytes = sizeof line - 1;
    line[bytes - 1] = '\n';
  }
  const int file = open_in(folder_variable, TAPELENS_EXPLANATION, O_RDWR);
  if (file < 0) {
    complain(line, (uint64_t)bytes);
    return;
  }
  flock(file, LOCK_EX); /* without the lock two processes may both print it */
  char already = 0;
  if (pread(file, &already, 1, 0) != 1 || already == 0) {
    const int was_said = attached_settings == NULL && try_to_complain(line, (uint64_t)bytes);
    const size_t begin = strlen("tapelens: ");
    line[begin - 1] = was_said ? '1' : '0';
    const ssize_t written = pwrite(file, line + begin - 1, (size_t)bytes - begin, 0);
    (void)written; /* if this fails, the command line prints its own reason */
  }
  close(file);
}

/* Prints a reason for the whole process: why it is not recorded, or not rewritten. */
static void say(const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  explain(is_set(TAPELENS_SPOOL) ? TAPELENS_SPOOL : TAPELENS_TALLY, text);
}

/* Replaces CUPTI's functions in a process without CUPTI: returns CUPTI_ERROR_NOT_INITIALIZED. */
static int without_cupti(void) { return 15; }
static int is_of_cupti(unsigned symbol) { return symbol >= TAPELENS_cupti_subscribe; }

void* tapelens_in_library(const char* library, const char* name) {
  void* handle = dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
  if (handle == NULL) return NULL;
  void* function = dlsym(handle, name);
  dlclose(handle);
  return function;
}

static void* real_function(enum tapelens_symbol symbol) {
  /* Another preloaded library may define the function, too: it takes precedence and calls LibTorch's own. */
  void* next = dlsym(RTLD_NEXT, symbol_names[symbol]);
  if (next != NULL) return next;
  /* libtorch is often loaded with RTLD_LOCAL, and then RTLD_NEXT does not find it. */
  void* function = tapelens_in_library("libtorch_cpu.so", symbol_names[symbol]); /* or its dependencies: CUPTI */
  if (function == NULL) function = tapelens_in_library("libtorch_cuda.so", symbol_names[symbol]);
  if (function == NULL) function = tapelens_in_library("libtorch_python.so", symbol_names[symbol]);
  if (function == NULL && is_of_cupti(symbol)) function = tapelens_in_library("libcupti.so.13", symbol_names[symbol]);
  if (function == NULL && is_of_cupti(symbol)) function = tapelens_in_library("libcupti.so.12", symbol_names[symbol]);
  return function;
}

const char* tapelens_symbol_name(enum tapelens_symbol symbol) { return symbol_names[symbol]; }

static void replace(enum tapelens_symbol symbol, void* function) {
  __atomic_store_n(&tapelens_slots[symbol], function, __ATOMIC_RELEASE);
}

struct tapelens_inject_table tapelens_inject __attribute__((visibility("default"))) = {TAPELENS_INJECT_VERSION,
                                                                                       TAPELENS_symbol_count,
                                                                                       real_function,
                                                                                       replace,
                                                                                       thread_slot,
                                                                                       NULL,
                                                                                       NULL,
                                                                                       NULL,
                                                                                       complain,
                                                                                       explain,
                                                                                       0,
                                                                                       setting,
                                                                                       0,
                                                                                       NULL,
                                                                                       NULL};

struct tapelens_marks tapelens_marks __attribute__((visibility("default"))) = {NULL, 0};

__attribute__((visibility("default"))) int tapelens_mark(int kind) {
  int (*answer)(int) = __atomic_load_n(&tapelens_marks.answer, __ATOMIC_ACQUIRE);
  if (answer != NULL) return answer(kind);
  if (!is_set(TAPELENS_SPOOL)) return 0;
  if (kind == TAPELENS_MARK_START || kind == TAPELENS_MARK_STOP) tapelens_marks.started = kind == TAPELENS_MARK_START;
  return 1;
}

__attribute__((constructor)) static void note_begin(void) {
  struct timespec now;
  /* Not the coarse clock: file times may be finer (Linux 6.13), and a file written a few milliseconds before the
     process began would appear newer. */
  if (clock_gettime(CLOCK_REALTIME, &now) == 0)
    tapelens_inject.began_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The folder with lib/ and include/ of the library that contains `function`. */
static int torch_root(char root[4096], void* function) {
  Dl_info library;
  if (dladdr(function, &library) == 0 || library.dli_fname == NULL) return 0;
  if (realpath(library.dli_fname, root) == NULL) return 0;
  for (int i = 0; i < 2; ++i) {
    char* slash = strrchr(root, '/');
    if (slash == NULL) return 0;
    *slash = 0;
  }
  return 1;
}

/* Converts the path of a list, probe-2.15.fits, to that of its probe. */
static void probe_of(char* path) { memcpy(path + strlen(path) - 5, ".so", 4); }

/* Copies the probe to the folder of the spools, because each attach loads a separate probe. */
static int copy_probe(char path[4096]) {
  char name[64];
  snprintf(name, sizeof name, "%s" TAPELENS_ATTACHED_PROBE, setting(TAPELENS_ATTACH));
  const int from = open(path, O_RDONLY | O_CLOEXEC);
  const int to = from < 0 ? -1 : open_in(TAPELENS_SPOOL, name, O_WRONLY | O_CREAT | O_EXCL);
  ssize_t copied = to < 0 ? -1 : 1;
  while (copied > 0) copied = copy_file_range(from, NULL, to, NULL, 1 << 30, 0);
  if (copied < 0 && to >= 0) { /* another file system */
    char part[16384];
    copied = lseek(from, 0, SEEK_SET) == 0 && ftruncate(to, 0) == 0 && lseek(to, 0, SEEK_SET) == 0 ? 1 : -1;
    while (copied > 0) {
      copied = read(from, part, sizeof part);
      if (copied > 0 && write(to, part, (size_t)copied) != copied) copied = -1;
    }
  }
  if (from >= 0) close(from);
  if (to >= 0) close(to);
  const int is_named = snprintf(path, 4096, "%s/%s", setting(TAPELENS_SPOOL), name) < 4096;
  return copied == 0 && is_named;
}

/* Loads a probe. In a program that runs already it does not start by itself. */
static void load(char path[4096], unsigned major, unsigned minor, const char* how) {
  if (attached_settings != NULL && !copy_probe(path)) {
    say("the probe for PyTorch %u.%u cannot be copied to %s: %s; the program runs %s", major, minor, path,
        strerror(errno), how);
    return;
  }
  void* probe = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (probe == NULL) {
    say("the probe for PyTorch %u.%u cannot be loaded: %s; the program runs %s", major, minor, dlerror(), how);
  }
  if (attached_settings == NULL) return;
  unlink(path);
  void (*start)(const struct tapelens_inject_table*) =
      probe == NULL ? NULL : (void (*)(const struct tapelens_inject_table*))dlsym(probe, TAPELENS_START);
  if (start != NULL) {
    start(&tapelens_inject);
  } else if (probe != NULL) {
    say("the probe for PyTorch %u.%u is from another version of Tapelens; the program runs %s", major, minor, how);
  }
}

static void load_probe(void) {
  const int records = is_set(TAPELENS_SPOOL);
  const int rewrites = is_set(TAPELENS_REWRITE);
  if (!records && !rewrites && !is_set(TAPELENS_SIMULATED_GPU)) return;
  const char* how = records ? "unrecorded" : rewrites ? "as it is" : "with zeros for all values of its simulated GPU";
  void* torch = dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY);
  uint64_t (*abi_version)(void) = torch ? (uint64_t(*)(void))dlsym(torch, "aoti_torch_abi_version") : NULL;
  if (abi_version == NULL) {
    say("this PyTorch is older than any that Tapelens knows; the program runs %s", how);
    return;
  }
  const uint64_t version = abi_version();
  const unsigned major = (unsigned)(version >> 56), minor = (unsigned)(version >> 48 & 0xff);
  char path[4096], root[4096] = "";
  Dl_info self;
  if (dladdr((void*)&load_probe, &self) == 0 || self.dli_fname == NULL) return;
  const char* slash = strrchr(self.dli_fname, '/');
  const int folder = slash ? (int)(slash - self.dli_fname) : 1;
  const char* libraries = is_set(TAPELENS_ATTACH) ? setting(TAPELENS_LIBRARIES) : NULL;
  const int length = libraries != NULL ? snprintf(path, sizeof path, "%s/probe-%u.%u.fits", libraries, major, minor)
                                       : snprintf(path, sizeof path, "%.*s/probe-%u.%u.fits", folder,
                                                  slash ? self.dli_fname : ".", major, minor);
  if (length >= (int)sizeof path) return;
  const int has_root = torch_root(root, (void*)abi_version);
  const char* built = setting(TAPELENS_BUILT_PROBES);
  const int is_installed = access(path, R_OK) == 0;
  const enum tapelens_fit fit = is_installed && has_root ? tapelens_fits(path, root) : TAPELENS_FIT_UNKNOWN;
  enum tapelens_built found = TAPELENS_BUILT_NONE;
  if (fit == TAPELENS_FITS) {
    probe_of(path);
  } else if (has_root && built != NULL) {
    found = tapelens_find_built(built, major, minor, root, path);
  }
  if (found == TAPELENS_BUILT_REFUSED) {
    say("other users can change %s, so the probe that 'tapelens build-probe' made is not loaded: make it yours, "
        "and writable for you alone; the program runs %s",
        path, how);
    return;
  }
  if (fit != TAPELENS_FITS && found == TAPELENS_BUILT_NONE) {
    if (!is_installed) {
      say("no probe for PyTorch %u.%u is installed ('tapelens doctor' lists them, "
          "'tapelens build-probe' makes one); the program runs %s",
          major, minor, how);
    } else if (fit == TAPELENS_FITS_NOT) {
      say("this PyTorch %u.%u is another build than the probe is for, its headers differ; 'tapelens "
          "build-probe' makes one for it; the program runs %s",
          major, minor, how);
    } else {
      say("it is not known whether the probe for PyTorch %u.%u is for this build: neither include/ nor "
          "version.py is in %s; the program runs %s",
          major, minor, root, how);
    }
    return;
  }
  load(path, major, minor, how);
}

static char probe_wanted = 1;

void tapelens_begin_attached(const char* settings, uint64_t bytes) {
  char* copy = (char*)calloc(1, bytes + 2);
  if (copy == NULL) return;
  memcpy(copy, settings, bytes);
  attached_settings = copy;
  tapelens_inject.is_attached = 1;
  const char* began = setting(TAPELENS_BEGAN_NS);
  if (began != NULL) tapelens_inject.began_ns = strtoll(began, NULL, 10);
  __atomic_store_n(&probe_wanted, 0, __ATOMIC_RELEASE); /* not at the next operator, on any thread */
}

int tapelens_load_probe(void) {
  if (attached_settings == NULL) return 0;
  load_probe();
  return tapelens_inject.detach != NULL;
}

__attribute__((visibility("hidden"))) void* tapelens_resolve(unsigned symbol) {
  const int first_operator = symbol == TAPELENS_step_callbacks || symbol == TAPELENS_step_callbacks_unless_empty;
  if (first_operator && __atomic_exchange_n(&probe_wanted, 0, __ATOMIC_ACQ_REL)) load_probe();
  void* now = __atomic_load_n(&tapelens_slots[symbol], __ATOMIC_ACQUIRE);
  void* real = real_function((enum tapelens_symbol)symbol);
  if (real == NULL && is_of_cupti(symbol)) real = (void*)without_cupti;
  if (real == NULL) {
    char text[512];
    const int bytes = snprintf(text, sizeof text, "tapelens: %s was called and LibTorch has no such function\n",
                               symbol_names[symbol]);
    complain(text, (uint64_t)bytes);
    abort();
  }
  /* Replace only a stub: the probe may have filled the slot meanwhile. */
  if (now == tapelens_stubs[symbol]) {
    __atomic_compare_exchange_n(&tapelens_slots[symbol], &now, real, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    now = __atomic_load_n(&tapelens_slots[symbol], __ATOMIC_ACQUIRE);
  }
  return now;
}
