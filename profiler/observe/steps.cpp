// Steps: an optimizer's step ends one. Follows --steps A:B.
#include "profiler/observe/steps.h"

#include <mutex>
#include <string>

#include "profiler/observe/capture.h"
#include "profiler/record/intern.h"

namespace tapelens::capture {

StepWindow g_window;

namespace {
std::mutex& step_lock() {
  static auto* lock = new std::mutex;
  return *lock;
}
std::string* g_first = nullptr;  // the optimizer whose steps are borders: the first that stepped
uint64_t g_steps = 0;            // that have ended
}  // namespace

uint64_t steps_ended() {
  const std::lock_guard guard(step_lock());
  return g_steps;
}

void optimizer_begins(Thread& thread, std::string_view name) {
  write_event(thread, trace::RecordKind::optimizer_begin, intern_string(thread, name));
}

void optimizer_ends(Thread& thread, std::string_view name) {
  write_event(thread, trace::RecordKind::optimizer_end);
  const std::lock_guard guard(step_lock());
  if (g_first == nullptr) g_first = new std::string(name);
  if (*g_first != name) return;
  ++g_steps;
  if (!g_window.given) return;
  if (g_steps == g_window.first && mode() == Mode::memory) g_mode.store(Mode::full, std::memory_order_relaxed);
  if (g_steps == g_window.last) stop_recording();
}

}  // namespace tapelens::capture
