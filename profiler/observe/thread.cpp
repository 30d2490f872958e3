// Makes the state of threads, and recycles it when they end.
#include "profiler/observe/thread.h"

#include <pthread.h>

#include "base/mutex.h"
#include "profiler/observe/observers.h"

namespace tapelens::observe {

std::atomic<Mode> g_mode{Mode::off};
bool g_records = false, g_rewrites = false, g_simulates = false;
const tapelens_inject_table* g_inject = nullptr;

namespace {

constinit base::Mutex g_pool_lock;
Thread* g_pool TAPELENS_GUARDED_BY(g_pool_lock) = nullptr;  // states of ended threads, for reuse

void thread_ended(void* state) {
  auto* thread = static_cast<Thread*>(state);
  *g_inject->thread_slot() = nullptr;
  if (g_records) record::thread_ends(*thread);
  thread->open_calls.clear();
  thread->nodes.clear();
  thread->saves = 0;
  thread->modules.clear();
  if (g_rewrites) rewrite::thread_ends(*thread);
  if (g_simulates) fake_kernels::thread_ends(*thread);
  const base::MutexLock guard(g_pool_lock);
  thread->next = g_pool;
  g_pool = thread;
}

pthread_key_t end_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, thread_ended);
    return made;
  }();
  return key;
}

}  // namespace

Thread& make_thread() {
  Thread* thread = nullptr;
  {
    const base::MutexLock guard(g_pool_lock);
    if (g_pool != nullptr) {
      thread = g_pool;
      g_pool = thread->next;
    }
  }
  if (thread == nullptr) thread = new Thread;
  if (g_records) record::thread_begins(*thread);
  if (g_rewrites) rewrite::thread_begins(*thread);
  if (g_simulates) fake_kernels::thread_begins(*thread);
  *g_inject->thread_slot() = thread;
  pthread_setspecific(end_key(), thread);
  return *thread;
}

}  // namespace tapelens::observe
