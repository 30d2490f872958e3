/* Run with the preload library: tests the target of each stand-in, the arguments and the result of a call through the
 * first stand-in, which looks up its target, and the threads that CPython may end. */
#define _GNU_SOURCE
#include "profiler/inject/inject.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/inject/calls.h"

static int failures = 0;

#define EXPECT(condition)                                                     \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                             \
    }                                                                         \
  } while (0)

static four vector(int number) {
  return (four){(float)number, (float)number + 0.25f, (float)number + 0.5f, (float)number + 0.75f};
}

#define VALUES                                                                                                    \
  11, 12, 13, 14, 15, 16, 17, 18, 19, 20, vector(21), vector(22), vector(23), vector(24), vector(25), vector(26), \
      vector(27), vector(28), vector(29), vector(30)

static void expect_all(struct large result) {
  for (int i = 0; i < 10; ++i) {
    const four wanted = vector(21 + i);
    EXPECT(result.numbers[i] == 11 + i);
    EXPECT(memcmp(&result.vectors[i], &wanted, sizeof wanted) == 0);
  }
}

/* The same sum as sum() in libtorch_cpu.c. */
static int64_t wanted_sum(void) {
  int64_t all = 0;
  for (int i = 0; i < 10; ++i) all += (i + 1) * (11 + i) + (i + 1) * (4 * (21 + i));
  return all + 55 * 3 / 2; /* the fractions of each vector sum to 1.5 */
}

static struct large in_its_place(ARGUMENTS) {
  return (struct large){{a + 1, b, c, d, e, f, g, h, i, j}, {k, l, m, n, o, p, q, r, s, t}};
}

static int answer(void) { return 42; }

static void* ended_by_python(void* name) {
  pthread_setname_np(pthread_self(), (const char*)name);
  end_thread_as_python();
  return NULL;
}

static pthread_t end_by_python(const char* name) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, ended_by_python, (void*)name) != 0) abort();
  return thread;
}

/* Whether the thread ends while this one sleeps. */
static int ends_in(time_t seconds, pthread_t thread) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += seconds;
  return pthread_timedjoin_np(thread, NULL, &until) == 0;
}

/* Whether a thread of this name ends when CPython ends it. */
static int ends(const char* name) { return ends_in(2, end_by_python(name)); }

static void threads_of_the_engine_wait_while_python_finalizes(struct tapelens_inject_table* table) {
  EXPECT(ends("pt_autograd_0"));
  EXPECT(ends("python"));
  python_finalizes = 1;
  EXPECT(ends("python"));
  EXPECT(threads_counted_off == 0);
  EXPECT(!ends("pt_autograd_0"));
  EXPECT(threads_counted_off == 1);
  table->holds_python = answer;
  EXPECT(!ends("python"));
  EXPECT(threads_counted_off == 1);
}

/* A thread that waits keeps its locks. If the main thread waits for one of them, the process never ends. */
static void a_thread_waits_only_while_the_main_thread_works(void) {
  const pthread_t thread = end_by_python("pt_autograd_0");
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  for (const time_t until = now.tv_sec + 9; now.tv_sec < until;) clock_gettime(CLOCK_MONOTONIC, &now);
  EXPECT(pthread_tryjoin_np(thread, NULL) != 0);
  EXPECT(ends_in(9, thread));
}

int main(void) {
  struct tapelens_inject_table* table = (struct tapelens_inject_table*)dlsym(RTLD_DEFAULT, "tapelens_inject");
  if (table == NULL || table->symbol_count != TAPELENS_symbol_count) {
    fprintf(stderr, "the preload library is missing\n");
    return 1;
  }
  EXPECT(dlsym(RTLD_DEFAULT, "_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE") !=
         table->real(TAPELENS_step_callbacks_unless_empty));

  expect_all(all_in_memory(VALUES)); /* through tapelens_resolve */
  EXPECT(times_asked == 1);
  expect_all(all_in_memory(VALUES)); /* through the slot */
  EXPECT(times_asked == 1);
  EXPECT(sum(VALUES) == wanted_sum());
  EXPECT(sum(VALUES) == wanted_sum());

  table->replace(TAPELENS_step_callbacks_unless_empty, (void*)in_its_place);
  struct large other = all_in_memory(VALUES);
  EXPECT(other.numbers[0] == 12);
  other.numbers[0] = 11;
  expect_all(other);

  /* Each stand-in must use the slot with its number: a jump through any other slot ends the program. */
  static const char* const names[] = {
#define X(name, symbol) symbol,
      TAPELENS_SYMBOLS(X)
#undef X
  };
  for (unsigned i = 2; i < TAPELENS_symbol_count; ++i) {
    int (*stand_in)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, names[i]);
    EXPECT(stand_in != NULL);
    if (stand_in == NULL) continue;
    table->replace((enum tapelens_symbol)i, (void*)answer);
    EXPECT(stand_in() == 42);
  }
  threads_of_the_engine_wait_while_python_finalizes(table);
  a_thread_waits_only_while_the_main_thread_works();
  if (failures == 0) printf("every stand-in leads where it should, with all arguments\n");
  return failures != 0;
}
