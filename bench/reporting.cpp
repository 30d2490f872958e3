// tapelens-bench-reporting [EVENTS]: the speed of loading and analysing a recording on one core, and the memory of the
// whole `tapelens report`: open, load, peak, holders, groups, steps, text.
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "analyzer/report/report.h"
#include "testing/synthetic.h"

namespace tapelens::bench {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Makes one report in a child process, so that the measured memory is only its own. Returns its exit code.
int report(const std::string& path, double events) {
  auto begin = std::chrono::steady_clock::now();
  const auto opened = run::Run::open(path);
  if (!opened) return 1;
  const double opening = seconds_since(begin);
  report::Options options;
  options.top = 10;
  begin = std::chrono::steady_clock::now();
  const auto built = report::build(*opened, options);
  if (!built) return 1;
  const double analysing = seconds_since(begin);
  begin = std::chrono::steady_clock::now();
  const size_t bytes = report::text(*built, {}).size();
  const double rendering = seconds_since(begin);
  std::printf("%-34s %12.2f  (%.3f s)\n", "million events loaded and analysed/s", events / analysing / 1e6, analysing);
  std::printf("%-34s %12.3f  (opened in %.3f s, %zu bytes of text in %.3f s)\n", "seconds, the whole report",
              opening + analysing + rendering, opening, bytes, rendering);
  return 0;
}

int run(uint64_t events) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof(one), &one);

  const auto recording = testing::SyntheticRecording::make({.events = events});
  if (!recording) {
    std::fprintf(stderr, "%s\n", recording.error().message.c_str());
    return 1;
  }
  const auto count = static_cast<double>((*recording).events());
  std::printf("%-34s %12.0f  (%llu steps)\n", "events", count, static_cast<unsigned long long>((*recording).steps()));
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const int code = report((*recording).path(), count);
    std::fflush(stdout);
    _exit(code);
  }
  int status = 0;
  struct rusage usage {};
  if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0) {
    std::fprintf(stderr, "the report failed\n");
    return 1;
  }
  std::printf("%-34s %12.1f\n", "MiB resident at most", static_cast<double>(usage.ru_maxrss) / 1024);
  return 0;
}

}  // namespace
}  // namespace tapelens::bench

int main(int argc, char** argv) {
  const uint64_t events = argc == 2 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
  if (argc > 2 || events == 0) {
    std::fprintf(stderr, "usage: tapelens-bench-reporting [EVENTS]\n");
    return 2;
  }
  return tapelens::bench::run(events);
}
