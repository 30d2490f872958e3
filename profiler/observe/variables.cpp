// See variables.h.
#include "profiler/observe/variables.h"

#include "profiler/cpython/python.h"
#include "profiler/observe/as_python.h"
#include "profiler/observe/named_tensors.h"
#include "profiler/observe/observers.h"
#include "profiler/observe/python_functions.h"
#include "profiler/observe/unseen.h"

namespace tapelens::observe {

using namespace cpython;

bool g_searches_variables = false;
std::atomic<bool> g_search_may_be_due{false};

namespace {

// Unseen and AsPython: a handler of a signal, which the interpreter may run meanwhile, trains as without a search.
void search(const Python& api, Thread& thread, const char* function) {
  const Gil gil(api);
  if (api.ErrOccurred() != nullptr) return;  // the program's error, which our calls must not replace
  PyObject* const hook = hook_function(function);
  if (hook == nullptr || hook == api.none) return;
  const Unseen unseen(api, thread);
  const AsPython as_python;
  if (!Owned(api, api.CallOneArg(hook, api.none, nullptr))) give_error_back(api);
}

}  // namespace

void search_if_due(Thread& thread, SafePoint at) noexcept {
  if (has_fake_tensors()) return;  // a compiler traces
  const Python* api = python();
  if (api == nullptr || !python_may_run(*api)) return;
  const record::Search due = record::search_begins(at);
  if (due == record::Search::none) return;
  try {
    search(*api, thread, due == record::Search::out_of_memory ? "search_out_of_memory" : "search_at_peak");
  } catch (...) {
    record::hook_failed();
  }
  record::search_ends();
}

void safe_point_outside_of_operators(Thread& thread) noexcept {
  if (thread.busy || thread.executes_on_cpu || mode() != Mode::full || !python_is_innermost(thread)) return;
  const Python* api = python();
  if (api != nullptr && python_may_run(*api) && api->GILState_Check() != 0) safe_point(thread, SafePoint::end);
}

void search_before_backward(Thread& thread) {
  if (!g_searches_variables) return;
  const Python* api = python();
  if (api == nullptr || !python_may_run(*api)) return;
  search(*api, thread, "look_before_backward");
}

}  // namespace tapelens::observe
