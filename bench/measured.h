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

#include "testing/synthetic.h"

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

// Prints the costs of `work` for synthetic recordings with half the events and with all of them, and their exponents.
// `work(recording)` runs in a child process and returns an exit code, like this function.
template <class Work>
int show_growth(uint64_t events, Work work) {
  double counts[2]{};
  Cost costs[2]{};
  for (const int i : {0, 1}) {
    const auto recording = testing::SyntheticRecording::make({.events = i == 0 ? events / 2 : events});
    if (!recording) {
      std::fprintf(stderr, "%s\n", recording.error().message.c_str());
      return 1;
    }
    counts[i] = static_cast<double>((*recording).events());
    std::printf("%-44s %12.0f  (%llu steps)\n", "events", counts[i],
                static_cast<unsigned long long>((*recording).steps()));
    const auto cost = cost_in_child([&] { return work(*recording); });
    if (!cost) {
      std::fprintf(stderr, "the work failed\n");
      return 1;
    }
    costs[i] = *cost;
    std::printf("%-44s %12.3f s\n", "processor time", cost->seconds);
    std::printf("%-44s %12.1f MiB\n", "resident at most", cost->mib);
  }
  std::printf("%-44s %12.2f\n", "exponent of processor time",
              exponent(counts[0], costs[0].seconds, counts[1], costs[1].seconds));
  std::printf("%-44s %12.2f\n", "exponent of resident memory",
              exponent(counts[0], costs[0].mib, counts[1], costs[1].mib));
  return 0;
}

}  // namespace tapelens::bench
