/* Threads that CPython ends because they request the GIL while the interpreter finalizes.
 *
 * Before 3.14, CPython calls pthread_exit() on such a thread, which unwinds its stack. If the unwinder meets a C++
 * frame that must not be unwound, such as a destructor, std::terminate() aborts a process that has finished its
 * work: exit code 134. This happens to the device threads of PyTorch's autograd engine when they drop the rest of a
 * backward after the main thread continued (pytorch/pytorch#190489). In CPython 3.14 such a thread waits for the end
 * of the process. This file does the same, but only for threads that would abort the process. Other threads end as
 * before, and joins of them return. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "profiler/inject/inject.h"
#include "profiler/inject/library.h"

#define EXPORT __attribute__((visibility("default")))

/* Seconds. While the thread waits it keeps the locks that it holds, and the process may need one of them: the
 * destructor of ProcessGroupGloo locks a mutex of the thread that it joins. If the main thread uses no processor time
 * for so long, the process does not end: abort as without this file. */
enum { LONGEST_STANDSTILL = 5 };

typedef void (*terminate_handler)(void);

static __thread int is_ended_by_python __attribute__((tls_model("initial-exec")));
static terminate_handler previous_handler;

/* Nanoseconds of processor time of the main thread; 0 if the kernel does not say. */
static long long main_thread_time(void) {
  /* The kernel's number for the clock of one thread: MAKE_THREAD_CPUCLOCK in linux/posix-timers.h, CPUCLOCK_SCHED. */
  const clockid_t clock = (clockid_t)(~(unsigned)getpid() << 3 | 6);
  struct timespec used;
  if (clock_gettime(clock, &used) != 0) return 0;
  return used.tv_sec * 1000000000LL + used.tv_nsec;
}

/* Returns only if the process does not end. */
static void wait_for_the_end(void) {
  /* Block signals, so that the process's signals go to another thread, as if this one had ended. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  long long used = main_thread_time();
  for (int still = 0; still < LONGEST_STANDSTILL;) {
    const struct timespec second = {1, 0};
    nanosleep(&second, NULL);
    const long long now = main_thread_time();
    still = now == used ? still + 1 : 0;
    used = now;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  is_ended_by_python = 0;
}

static void on_terminate(void) {
  if (is_ended_by_python) wait_for_the_end();
  if (previous_handler != NULL) previous_handler();
  abort();
}

static void watch_terminate(void) {
  terminate_handler (*get)(void) =
      (terminate_handler(*)(void))tapelens_in_library("libstdc++.so.6", "_ZSt13get_terminatev");
  terminate_handler (*set)(terminate_handler) =
      (terminate_handler(*)(terminate_handler))tapelens_in_library("libstdc++.so.6", "_ZSt13set_terminatePFvvE");
  if (get == NULL || set == NULL) return;
  previous_handler = get();
  set(on_terminate);
}

/* Whether this is a device thread of the autograd engine, which cannot be unwound: its first frame requests the GIL
 * again. */
static int is_engine_thread(void) {
  char name[16] = "";
  return pthread_getname_np(pthread_self(), name, sizeof name) == 0 && strncmp(name, "pt_autograd_", 12) == 0;
}

/* Counts the thread as ended: the engine's destructor waits up to ten seconds for threads that have not ended. */
static void count_engine_thread_off(void) {
  void* (*engine)(void) =
      (void* (*)(void))tapelens_in_library("libtorch_cpu.so", "_ZN5torch8autograd6Engine18get_default_engineEv");
  void (*count_off)(void*) = (void (*)(void*))tapelens_in_library(
      "libtorch_cpu.so", "_ZN5torch8autograd6Engine36decrement_non_reentrant_thread_countEv");
  if (engine != NULL && count_off != NULL) count_off(engine());
}

/* Whether `caller` is code of CPython and the interpreter is finalizing. */
static int python_ends_thread(void* caller) {
  int (*is_finalizing)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsFinalizing"); /* from 3.13 */
  if (is_finalizing == NULL) is_finalizing = (int (*)(void))dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
  Dl_info python, calling;
  return is_finalizing != NULL && dladdr((void*)is_finalizing, &python) != 0 && dladdr(caller, &calling) != 0 &&
         python.dli_fbase == calling.dli_fbase && is_finalizing() != 0;
}

EXPORT __attribute__((noreturn)) void pthread_exit(void* value) {
  static pthread_once_t terminate_watched = PTHREAD_ONCE_INIT;
  if (python_ends_thread(__builtin_return_address(0))) {
    int (*holds_python)(void) = __atomic_load_n(&tapelens_inject.holds_python, __ATOMIC_ACQUIRE);
    is_ended_by_python = 1;
    pthread_once(&terminate_watched, watch_terminate);
    if (is_engine_thread()) {
      count_engine_thread_off();
      wait_for_the_end();
    } else if (holds_python != NULL && holds_python()) {
      wait_for_the_end();
    }
  }
  void (*real)(void*) = (void (*)(void*))dlsym(RTLD_NEXT, "pthread_exit");
  if (real != NULL) real(value);
  for (;;) wait_for_the_end(); /* every libc has pthread_exit */
}
