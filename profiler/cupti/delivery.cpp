#include "profiler/cupti/delivery.h"

#include <unistd.h>

#include <chrono>
#include <csignal>

namespace tapelens::cupti {
namespace {

constexpr std::chrono::milliseconds kPeriod{200};
constexpr uint32_t kCompleted = 0;  // buffers whose records are complete, full or not

}  // namespace

bool Delivery::start(Result (*flush_all)(uint32_t flag)) {
  flush_all_ = flush_all;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals belong to the program's threads
  const bool is_started = pthread_create(&thread_, nullptr, run, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (is_started) process_ = getpid();
  return is_started;
}

void Delivery::stop() {
  if (process_ != getpid()) return;
  process_ = 0;
  stops_.release();
  pthread_join(thread_, nullptr);
}

void* Delivery::run(void* self) {
  auto& delivery = *static_cast<Delivery*>(self);
  pthread_setname_np(pthread_self(), "tapelens-cupti");
  while (!delivery.stops_.try_acquire_for(kPeriod)) delivery.flush_all_(kCompleted);
  return nullptr;
}

}  // namespace tapelens::cupti
