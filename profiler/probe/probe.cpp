// Starts and ends the recording of this process, its rewrites, and the values of its simulated GPU. The preload library
// loads the probe when LibTorch dispatches its first operator; the static object at the end of this file then runs.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string_view>

#include "profiler/cpython/python.h"
#include "profiler/cuda/device_memory.h"
#include "profiler/inject/mark.h"
#include "profiler/observe/observe.h"
#include "profiler/observe/observers.h"
#include "profiler/observe/steps.h"
#include "profiler/probe/parts.h"
#include "profiler/record/recorder.h"
#include "trace/record.h"

namespace tapelens::probe {
namespace {

using observe::g_inject;
using observe::g_records;
using observe::g_rewrites;
using observe::g_simulates;
using observe::Mode;
using observe::mode;

pid_t g_process = 0;

void finish(std::optional<int> exit_code) {
  // A child of vfork() shares our memory until it calls exec or exits.
  if (getpid() != g_process || mode() == Mode::off) return;
  if (g_records) record::stop(exit_code);
  observe::g_mode.store(Mode::off, std::memory_order_relaxed);
}

// Called by an exit handler, and when `tapelens attach` detaches: CUPTI may wait for locks, which is not allowed before
// _exit().
void finish_in_order(std::optional<int> exit_code) {
  if (g_records && getpid() == g_process && mode() != Mode::off) {
    cuda::finish_device_memory();
    try {
      record::before_exit(observe::this_thread());
    } catch (...) {
      record::hook_failed();
    }
  }
  finish(exit_code);
}

void around_exec(int begins) {
  if (g_records && getpid() == g_process) record::around_exec(begins != 0);
}

// The program calls tapelens_mark(): mark.h.
int mark(int what) {
  if (!g_records || getpid() != g_process || !observe::is_recording()) return 0;
  observe::Thread& thread = observe::this_thread();
  if (thread.busy) return 1;
  try {
    const observe::Busy busy(thread);
    if (what == TAPELENS_MARK_STEP) observe::program_steps(thread, trace::kProgramStep);
    if (what == TAPELENS_MARK_START) record::program_starts(thread);
    if (what == TAPELENS_MARK_STOP) record::stop({});
  } catch (...) {
    record::hook_failed();
  }
  return 1;
}

void in_forked_child() {
  abandon_rewrites_in_child();
  if (mode() == Mode::off) return;
  observe::g_mode.store(Mode::off, std::memory_order_relaxed);
  if (g_records) record::abandon_in_child();
}

// The hooks are taken back after this, by the preload library.
void detach() {
  if (getpid() != g_process) return;
  finish_in_order({});
  observe::take_back_python_hooks();
  record::unwatch_allocations();
}

void start(const tapelens_inject_table* inject_table) {
  g_inject = inject_table;
  if (g_inject == nullptr) return;  // attach.c calls tapelens_start()
  if (g_inject->version != TAPELENS_INJECT_VERSION) {
    // `say` needs that table.
    constexpr std::string_view kLine =
        "tapelens: the probe and the preload library are from different installations; the program runs without "
        "Tapelens\n";
    if (write(STDERR_FILENO, kLine.data(), kLine.size()) < 0) return;
    return;
  }
  g_records = record::open();
  g_rewrites = start_rewrites();
  g_simulates = start_simulated_values();
  if (!g_records && !g_rewrites && !g_simulates) return;
  observe::Thread& thread = observe::this_thread();
  if (g_records) {
    record::begin(thread);
    cuda::watch_device_memory();
  }
  if (g_records || g_rewrites) {
    observe::watch_graph();
    observe::watch_backward();
    observe::watch_cpp_programs();
  }
  observe::watch_operators();
  observe::watch_resizes();
  if (g_rewrites) watch_rewrites();
  pthread_atfork(nullptr, nullptr, in_forked_child);
  // Python finalizes before exit handlers run; frees by static objects after them are not recorded.
  on_exit([](int status, void*) { finish_in_order(status); }, nullptr);
  at_quick_exit([] { finish({}); });
  g_process = getpid();
  auto* inject = const_cast<tapelens_inject_table*>(g_inject);
  inject->before_exit = [](int status) { finish(status); };
  inject->around_exec = around_exec;
  inject->holds_python = [] { return cpython::Gil::is_here() ? 1 : 0; };
  observe::g_mode.store(g_records ? record::first_mode() : Mode::rewrite, std::memory_order_relaxed);
  // A program that runs already has looked for tapelens_mark() when it began, and found none.
  if (auto* marks = static_cast<struct tapelens_marks*>(dlsym(RTLD_DEFAULT, "tapelens_marks"))) {
    if (g_records && marks->started != 0) record::program_starts(thread);
    __atomic_store_n(&marks->answer, &mark, __ATOMIC_RELEASE);
  }
  if (g_simulates) watch_simulated_values();  // reports earlier events, so the recording must have begun
  if (g_inject->is_attached != 0) {
    inject->detach = detach;
    observe::adopt_alive(thread);
  }
}

// Must be last in the file, after all other static objects.
const struct Start {
  Start() { start(static_cast<const tapelens_inject_table*>(dlsym(RTLD_DEFAULT, "tapelens_inject"))); }
} g_start;

}  // namespace

// TAPELENS_START of inject.h.
extern "C" __attribute__((visibility("default"))) void tapelens_start(const tapelens_inject_table* table) {
  start(table);
}

}  // namespace tapelens::probe
