// A thread that asks CUPTI for its records, five times a second. CUPTI's own periodic flush delivers only full buffers
// (cupti_activity.h, cuptiActivityFlushPeriod): programs make few records, so that they would wait until the end of the
// session, and be lost if the process ends by _exit() or a signal. CUPTI's header advises such a thread.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <semaphore>

#include "profiler/cupti/layout.h"

namespace tapelens::cupti {

class Delivery {
 public:
  // False if the system has no thread left.
  bool start(Result (*flush_all)(uint32_t flag));
  // Waits for the end of a flush that runs. The caller holds no lock that a completed buffer needs. Without effect if
  // it did not start, and in a forked child, which does not have the thread.
  void stop();

 private:
  static void* run(void* self);

  Result (*flush_all_)(uint32_t flag) = nullptr;
  std::binary_semaphore stops_{0};
  pthread_t thread_{};
  pid_t process_ = 0;  // that has the thread; 0: none
};

}  // namespace tapelens::cupti
