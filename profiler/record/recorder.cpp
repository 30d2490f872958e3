// See recorder.h.
#include "profiler/record/recorder.h"

#include <sys/syscall.h>
#include <torch/version.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <string>

#include "profiler/observe/observe.h"
#include "profiler/observe/observers.h"
#include "profiler/observe/stack.h"
#include "profiler/record/host_memory.h"
#include "profiler/record/intern.h"
#include "profiler/record/searches.h"
#include "profiler/record/storage.h"
#include "simulated/settings/settings.h"
#include "trace/variables.h"

namespace tapelens::record {

trace::SpoolWriter g_spool;

namespace {
const trace::RecordingOptions* g_options = nullptr;
}

const trace::RecordingOptions& options() {
  static const auto* const none = new trace::RecordingOptions;
  return g_options != nullptr ? *g_options : *none;
}

bool open() {
  g_options = new trace::RecordingOptions(trace::recording_options_of(observe::g_inject->setting));
  const trace::RecordingOptions& wanted = *g_options;
  if (wanted.spool.empty()) return false;
  observe::g_stacks = {.python = wanted.stacks.python, .native = wanted.stacks.cpp};
  const trace::SpoolLimits limits{
      .max_bytes = wanted.max_bytes, .is_ring = wanted.last > 0, .epoch_ns = wanted.epoch_ns};
  const std::string path =
      wanted.spool + "/" + std::to_string(getpid()) + "-" + std::to_string(trace::monotonic_ns()) + ".spool";
  const int error = g_spool.open(path.c_str(), limits);
  if (error == 0) return true;
  observe::explain(TAPELENS_SPOOL, path + ": cannot be written: " + strerror(error) + "; the program runs unrecorded");
  return false;
}

void begin(observe::Thread& thread) {
  ThreadState& own = *thread.recording;
  write_information(own, "torch_version", TORCH_VERSION);
  for (const char* variable : {"RANK", "LOCAL_RANK", "WORLD_SIZE"}) {
    std::string key(variable);
    for (char& c : key) c = static_cast<char>(tolower(c));
    if (const char* value = getenv(variable)) write_information(own, key, value);
  }
  char host[256] = {};
  if (gethostname(host, sizeof(host) - 1) == 0) write_information(own, "host", host);
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) {
    write_information(own, "host_bytes", std::to_string(static_cast<uint64_t>(pages) * static_cast<uint64_t>(page)));
  }
  simulated::GpuSettings gpu;
  if (const char* text = getenv(simulated::kSettingsVariable); text != nullptr && simulated::read(text, gpu)) {
    write_information(own, "simulated_gpu", std::to_string(gpu.count) + " x " + gpu.name);
    write_information(own, "simulated_gpu_bytes", std::to_string(gpu.bytes));
    write_information(own, "simulated_gpu_processors", std::to_string(gpu.processors));
  }
  if (options().steps) write_information(own, "steps", text_of(*options().steps));
  if (options().marked) write_information(own, "marked", "1");
  if (options().referrers) {
    write_information(own, "referrers", "1");
    begin_searches();
  }
  begin_host_memory(own);
  watch_allocations(own);
}

void before_exit(observe::Thread& thread) {
  if (is_recording()) finish_host_memory(*thread.recording);
}

Mode first_mode() {
  const bool waits = options().marked || (options().steps && options().steps->first > 0);
  return waits ? Mode::memory : Mode::full;
}

void program_starts(observe::Thread& thread) {
  if (options().marked && mode() == Mode::memory) observe::g_mode.store(Mode::full, std::memory_order_relaxed);
  if (mode() != Mode::full) return;  // --steps decides what is recorded
  range_begins(thread, trace::kProgramStart);
  range_ends(thread);
}

void stop(std::optional<int> exit_code) {
  if (!is_recording()) return;
  observe::g_mode.store(observe::g_rewrites || observe::g_simulates ? Mode::rewrite : Mode::off,
                        std::memory_order_relaxed);
  if (void* state = *observe::g_inject->thread_slot()) {
    static_cast<observe::Thread*>(state)->recording->lane.finish();
  }
  g_spool.finish(exit_code);
}

void around_exec(bool begins) { g_spool.replaced(begins); }

void abandon_in_child() { g_spool.abandon_in_child(); }

// ---- events from observe (observers.h)

void thread_begins(Thread& thread) {
  if (thread.recording == nullptr) thread.recording = new ThreadState;
  // A thread that took over the state of another gets a new lane: its operators nest separately.
  thread.recording->lane = trace::Lane();
  g_spool.attach(thread.recording->lane, static_cast<uint32_t>(syscall(SYS_gettid)));
}

void thread_ends(Thread& thread) {
  if (is_recording()) thread.recording->lane.leave();
  thread.recording->saves.clear();
}

void value_read(Thread& thread) {
  // The operator that the program called, not the copy inside it. Outside of all operators, it is CUDA's function.
  const char* name = "cudaMemcpy";
  uint32_t stack = 0;
  for (size_t i = thread.open_calls.size(); i-- > 0 && thread.open_calls[i].name != nullptr;) {
    name = thread.open_calls[i].name;
    stack = thread.open_calls[i].own_stack;
    if (i > 0 && thread.open_calls[i - 1].runs_python) break;
  }
  if (stack == 0 && (mode() == Mode::memory || thread.open_calls.empty())) stack = observe::stack_here(thread);
  ThreadState& own = *thread.recording;
  own.lane.write(
      trace::ValueReadRecord{header<trace::ValueReadRecord>(trace::RecordKind::value_read, 0, intern_string(own, name)),
                             trace::ticks_now(), stack, 0});
}

void hook_failed() { g_spool.count(trace::Loss::unattributed_save); }

void information(Thread& thread, std::string_view key, std::string_view value) {
  write_information(*thread.recording, key, value);
}

void variable_told(Thread& thread, std::string_view name, const c10::StorageImpl& of) {
  ThreadState& own = *thread.recording;
  const StorageView storage = view_of(own, &of);
  if (storage.address == 0) return;
  const uint32_t id = intern_string(own, name);
  if (!is_news(storage.address, id)) return;
  own.lane.write(trace::VariableRecord{header<trace::VariableRecord>(trace::RecordKind::variable, 0, id),
                                       trace::ticks_now(), storage.address, storage.bytes});
}

void optimizer_begins(Thread& thread, std::string_view name) {
  ThreadState& own = *thread.recording;
  write_event(own, trace::RecordKind::optimizer_begin, intern_string(own, name));
}

void optimizer_ends(Thread& thread) { write_event(*thread.recording, trace::RecordKind::optimizer_end); }

void step_ended(uint64_t steps) {
  if (g_spool.is_enough(steps)) return stop({});
  if (!options().steps) return;
  if (steps == options().steps->first && mode() == Mode::memory) {
    observe::g_mode.store(Mode::full, std::memory_order_relaxed);
  }
  if (steps == options().steps->end) stop({});
}

void rewritten(Thread& thread, const observe::Rewritten& what) {
  ThreadState& own = *thread.recording;
  const auto flags = static_cast<uint8_t>(what.level | (what.reason.empty() ? 0 : trace::kRewriteSkipped));
  const auto id = [&](std::string_view text) { return text.empty() ? 0 : intern_string(own, text); };
  own.lane.write(trace::RewriteRecord{
      header<trace::RewriteRecord>(trace::RecordKind::rewrite, flags, intern_string(own, what.rewrite)),
      trace::ticks_now(), address_of(what.node), id(what.field), what.index, id(what.reason),
      what.node == nullptr ? thread.settling_stack : 0, what.bytes, what.kept});
}

}  // namespace tapelens::record
