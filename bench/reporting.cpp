// tapelens-bench-reporting [EVENTS]: the speed of loading and analysing a recording on one core, and the memory of the
// whole `tapelens report`: open, load, peak, holders, groups, steps, text. Also the exponents of time and memory: how
// they grow from a recording with half the events.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "analyzer/report/report.h"
#include "bench/measured.h"

namespace tapelens::bench {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Makes one report. Returns the exit code of the child process that makes it.
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
  stay_on_this_core();
  return show_growth(
      events, [](const auto& recording) { return report(recording.path(), static_cast<double>(recording.events())); });
}

}  // namespace
}  // namespace tapelens::bench

int main(int argc, char** argv) {
  const uint64_t events = argc == 2 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
  if (argc > 2 || events < 2) {
    std::fprintf(stderr, "usage: tapelens-bench-reporting [EVENTS]\n");
    return 2;
  }
  return tapelens::bench::run(events);
}
