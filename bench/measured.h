// Measurements that several benches share.
#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <optional>

namespace tapelens::bench {

inline void stay_on_this_core() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof(one), &one);
}

// Processor time of this process.
inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Cost {
  double seconds = 0;  // processor time, user and system
  double mib = 0;      // resident at most
};

// Runs `work`, which returns an exit code, in a child process, so that the cost is only its own. Empty: it failed.
template <class Work>
std::optional<Cost> cost_in_child(Work work) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const int code = work();
    std::fflush(stdout);
    _exit(code);
  }
  int status = 0;
  struct rusage usage {};
  if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0) return std::nullopt;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return Cost{seconds(usage.ru_utime) + seconds(usage.ru_stime), static_cast<double>(usage.ru_maxrss) / 1024};
}

// A cost grows as events^exponent: 1 is linear, 2 is quadratic.
inline double exponent(double events_before, double before, double events, double after) {
  return std::log(after / before) / std::log(events / events_before);
}

}  // namespace tapelens::bench
