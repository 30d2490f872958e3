// See steps.h.
#include "profiler/observe/steps.h"

#include <string>

#include "base/mutex.h"
#include "profiler/observe/observers.h"

namespace tapelens::observe {
namespace {

constinit base::Mutex g_lock;
// The optimizer whose steps are borders: the first that stepped, or the program's marks.
std::string* g_first TAPELENS_GUARDED_BY(g_lock) TAPELENS_PT_GUARDED_BY(g_lock) = nullptr;
uint64_t g_steps TAPELENS_GUARDED_BY(g_lock) = 0;  // number of ended steps

}  // namespace

uint64_t steps_ended() {
  const base::MutexLock guard(g_lock);
  return g_steps;
}

void optimizer_begins(Thread& thread, std::string_view name) { record::optimizer_begins(thread, name); }

void optimizer_ends(Thread& thread, std::string_view name) {
  if (g_inject->look_again != nullptr) g_inject->look_again();
  record::optimizer_ends(thread);
  const base::MutexLock guard(g_lock);
  if (g_first == nullptr) g_first = new std::string(name);
  if (*g_first != name) return;
  record::step_ended(++g_steps);
}

void program_steps(Thread& thread, std::string_view name) {
  record::optimizer_begins(thread, name);
  record::optimizer_ends(thread);
  const base::MutexLock guard(g_lock);
  if (g_first == nullptr) g_first = new std::string;
  if (*g_first != name) {  // restart the count, as readers of the recording do
    *g_first = name;
    g_steps = 0;
  }
  record::step_ended(++g_steps);
}

void steps_early(c10::TensorImpl* parameter) {
  if (is_recording()) record::step_values(this_thread(), ParameterValues::gradient, parameter);
}

}  // namespace tapelens::observe
