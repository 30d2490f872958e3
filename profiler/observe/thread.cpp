// Makes the state of threads and gives their lanes back when they end.
#include "profiler/observe/thread.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>

namespace tapelens::capture {

std::atomic<Mode> g_mode{Mode::off};
bool g_rewrites = false;
trace::SpoolWriter g_spool;
const tapelens_inject_table* g_inject = nullptr;

namespace {

std::mutex& pool_lock() {
  static auto* lock = new std::mutex;
  return *lock;
}
Thread* g_pool = nullptr;  // states of threads that ended, to be used again

void thread_ended(void* state) {
  auto* thread = static_cast<Thread*>(state);
  *g_inject->thread_slot() = nullptr;
  if (is_recording()) thread->lane.leave();
  thread->frames.clear();
  thread->nodes.clear();
  thread->saves.clear();
  thread->modules.clear();
  thread->rewrites = {};
  const std::lock_guard guard(pool_lock());
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
    const std::lock_guard guard(pool_lock());
    if (g_pool != nullptr) {
      thread = g_pool;
      g_pool = thread->next;
    }
  }
  if (thread == nullptr) thread = new Thread;
  // A thread that took over the state of another is another lane: its operators nest on their own.
  thread->lane = trace::Lane();
  g_spool.attach(thread->lane, static_cast<uint32_t>(syscall(SYS_gettid)));
  *g_inject->thread_slot() = thread;
  pthread_setspecific(end_key(), thread);
  return *thread;
}

}  // namespace tapelens::capture
