// Starts the recording of this process, or the rewriting alone. The preload library loads the probe when LibTorch
// dispatches its first operator; the static object at the end of this file is what runs then.
#include <dlfcn.h>
#include <pthread.h>
#include <torch/version.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "profiler/observe/capture.h"
#include "profiler/observe/graph.h"
#include "profiler/record/intern.h"
#include "profiler/observe/stack.h"
#include "profiler/observe/steps.h"
#include "profiler/rewrite/operators.h"

namespace tapelens::capture {

void say(std::string_view what) {
  const std::string line = "tapelens: " + std::string(what) + "\n";
  g_inject->complain(line.data(), line.size());
}

static pid_t g_process = 0;

void stop_recording() {
  if (!is_recording()) return;
  g_mode.store(g_rewrites ? Mode::rewrite : Mode::off, std::memory_order_relaxed);
  if (void* state = *g_inject->thread_slot()) static_cast<Thread*>(state)->lane.finish();
  g_spool.finish();
}

void finish_recording() {
  // A child of vfork() runs in our memory until it executes or exits.
  if (getpid() != g_process || mode() == Mode::off) return;
  stop_recording();
  g_mode.store(Mode::off, std::memory_order_relaxed);
}

namespace {

void around_exec(int begins) {
  if (getpid() == g_process) g_spool.replaced(begins != 0);
}

uint64_t number_of(const char* variable, uint64_t otherwise) {
  const char* text = getenv(variable);
  return text != nullptr && *text != '\0' ? strtoull(text, nullptr, 10) : otherwise;
}

// "A:B", "A:" or ":B"
void read_steps() {
  const char* text = getenv("TAPELENS_STEPS");
  const char* colon = text != nullptr ? strchr(text, ':') : nullptr;
  if (colon == nullptr) return;
  g_window.given = true;
  g_window.first = colon != text ? strtoull(text, nullptr, 10) : 0;
  g_window.last = colon[1] != '\0' ? strtoull(colon + 1, nullptr, 10) : UINT64_MAX;
}

void read_stacks() {
  const char* text = getenv("TAPELENS_STACKS");
  if (text == nullptr || *text == '\0') return;
  g_stacks.python = strstr(text, "python") != nullptr;
  g_stacks.native = strstr(text, "cpp") != nullptr;
}

void in_forked_child() {
  rewrite::abandon_tally_in_child();
  if (mode() == Mode::off) return;
  g_mode.store(Mode::off, std::memory_order_relaxed);
  g_spool.abandon_in_child();
}

// Makes the spool of this process. False where nothing is recorded: then lanes write nowhere.
bool open_spool(const char* folder) {
  if (folder == nullptr) return false;
  read_steps();
  read_stacks();
  trace::SpoolLimits limits;
  limits.max_bytes = number_of("TAPELENS_MAX_BYTES", limits.max_bytes);
  limits.epoch_ns = number_of("TAPELENS_EPOCH_NS", 0);
  const std::string path =
      std::string(folder) + "/" + std::to_string(getpid()) + "-" + std::to_string(trace::monotonic_ns()) + ".spool";
  const int error = g_spool.open(path.c_str(), limits);
  if (error == 0) return true;
  g_window = {};
  say(path + ": cannot be written: " + strerror(error) + "; the program runs unrecorded");
  return false;
}

void write_facts(Thread& thread) {
  write_information(thread, "torch_version", TORCH_VERSION);
  for (const char* variable : {"RANK", "LOCAL_RANK", "WORLD_SIZE"}) {
    std::string key(variable);
    for (char& c : key) c = static_cast<char>(tolower(c));
    if (const char* value = getenv(variable)) write_information(thread, key, value);
  }
  if (g_window.given) write_information(thread, "steps", getenv("TAPELENS_STEPS"));
}

// What hooks do at first.
Mode start_mode(bool records) {
  if (!records) return Mode::rewrite;
  return g_window.given && g_window.first > 0 ? Mode::memory : Mode::full;
}

void start() {
  g_inject = static_cast<const tapelens_inject_table*>(dlsym(RTLD_DEFAULT, "tapelens_inject"));
  if (g_inject == nullptr || g_inject->version != TAPELENS_INJECT_VERSION) {
    // Without that table `say` has no way.
    constexpr std::string_view kLine =
        "tapelens: the probe and the preload library are of two installations; the program runs as it is\n";
    if (write(STDERR_FILENO, kLine.data(), kLine.size()) < 0) return;
    return;
  }
  const bool records = open_spool(getenv("TAPELENS_SPOOL"));
  g_rewrites = rewrite::start(rewrite_surroundings());
  if (!records && !g_rewrites) return;
  if (const std::string wrong = g_rewrites ? rewrite::open_tally() : ""; !wrong.empty()) {
    say(wrong + "; what is rewritten is not counted");
  }
  Thread& thread = this_thread();
  if (records) {
    write_facts(thread);
    watch_allocations(thread);
  }
  watch_graph();
  watch_backward();
  watch_cpp_programs();
  watch_operators();
  if (g_rewrites) {
    watch_resizes();
    rewrite::install_operator_rewrites();
  }
  pthread_atfork(nullptr, nullptr, in_forked_child);
  // Python is finalised before exit handlers run; what static objects free after them is not recorded.
  atexit(finish_recording);
  at_quick_exit(finish_recording);
  g_process = getpid();
  auto* inject = const_cast<tapelens_inject_table*>(g_inject);
  inject->before_exit = finish_recording;
  inject->around_exec = around_exec;
  g_mode.store(start_mode(records), std::memory_order_relaxed);
}

// Last in the file: everything else here is made before it.
const struct Start {
  Start() { start(); }
} g_start;

}  // namespace
}  // namespace tapelens::capture
