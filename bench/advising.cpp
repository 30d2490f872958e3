// tapelens-bench-advising [EVENTS]: time of the checks and the what-if replay on one core, and memory of the whole of
// `tapelens advise`. The replay removes every second save, and the saves of one node type. Also the exponents of both:
// how they grow from a recording with half the events.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "analyzer/advise/advice.h"
#include "analyzer/run/peak_device.h"
#include "analyzer/run/run.h"
#include "bench/measured.h"
#include "plugins/builtin.h"

namespace tapelens::bench {
namespace {

class Clock {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

void print(const char* what, double seconds) { std::printf("%-44s %9.3f s\n", what, seconds); }

void replay(const peak::DeviceAnalysis& device) {
  const peak::Analysis& analysis = device.of();
  const model::Process& process = analysis.process();
  Clock clock;
  analysis.provenance();
  print("provenance", clock.seconds());
  clock = {};
  analysis.lifetimes();
  print("lifetimes", clock.seconds());
  clock = {};
  const peak::Timeline& timeline = device.timeline();
  print("timeline", clock.seconds());
  const peak::Replay replay = device.replay();

  peak::WhatIf half, one_field;
  model::SaveId first{1};
  for (uint32_t row = 1; row <= process.saves.rows(); ++row) {
    const model::SaveId save{row};
    if (row % 2 == 0) half.without.push_back(save);
    if (process.saves.field[save] == process.saves.field[first] &&
        process.nodes.type[process.saves.node[save]] == process.nodes.type[process.saves.node[first]]) {
      one_field.without.push_back(save);
    }
  }
  const auto ask = [&](const char* what, const peak::WhatIf& change) {
    std::vector<double> times;
    for (int i = 0; i < 5; ++i) {
      const Clock each;
      const auto outcome = replay.without(change);
      times.push_back(each.seconds());
      if (outcome.peak > timeline.largest({model::Time{0}, model::kNever}).bytes) std::exit(1);
    }
    std::ranges::sort(times);
    std::printf("%-44s %9.3f s  (%zu saves, median of 5)\n", what, times[2], change.without.size());
  };
  ask("replay without every second save", half);
  ask("replay without one field", one_field);
}

int advise(const std::string& path) {
  const auto opened = run::Run::open(path);
  if (!opened) return 1;
  Clock clock;
  const auto process = opened->process(0);
  print("load", clock.seconds());
  const peak::DeviceAnalysis& device = run::peak_device(*process)->analysis();
  replay(device);

  advise::Checks checks = plugins::builtin_checks();
  for (const auto& entry : checks.entries()) {
    advise::AdviceOptions only;
    only.checks.emplace_back(entry.check->info().id);
    clock = {};
    const auto advice = advise::advise(device, checks, only);
    std::printf("%-44s %9.3f s  (%zu findings)\n", only.checks[0].c_str(), clock.seconds(), advice.findings.size());
  }
  clock = {};
  const auto advice = advise::advise(device, checks, {});
  std::printf("%-44s %9.3f s  (%zu findings)\n", "all checks, scored", clock.seconds(), advice.findings.size());
  return 0;
}

int run(uint64_t events) {
  stay_on_this_core();
  return show_growth(events, [](const auto& recording) { return advise(recording.path()); });
}

}  // namespace
}  // namespace tapelens::bench

int main(int argc, char** argv) {
  const uint64_t events = argc == 2 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
  if (argc > 2 || events < 2) {
    std::fprintf(stderr, "usage: tapelens-bench-advising [EVENTS]\n");
    return 2;
  }
  return tapelens::bench::run(events);
}
