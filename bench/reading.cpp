// tapelens-bench-reading [EVENTS]: the speed of sealing and reading a recording on one core, and the recording's size.
// Also the exponents of both: how the processor time grows from a recording with half the events.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "bench/measured.h"
#include "testing/synthetic.h"
#include "trace/recording.h"
#include "trace/seal.h"

namespace tapelens::bench {
namespace {

using namespace trace;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Measured {
  double events, sealing, reading;  // seconds of processor time
};

std::optional<Measured> measure(uint64_t events, bool shows_columns) {
  std::string folder = (std::filesystem::temp_directory_path() / "tapelens-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    std::perror("a temporary folder");
    return std::nullopt;
  }
  const struct Remover {
    std::string path;
    ~Remover() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  } remover{folder};

  testing::SyntheticOptions options;
  options.events = events;
  const auto written = testing::write_synthetic_spool(folder + "/1.spool", options);
  if (!written) {
    std::fprintf(stderr, "%s\n", written.error().message.c_str());
    return std::nullopt;
  }
  const auto count = static_cast<double>(written->events);
  std::printf("%-34s %12.0f  (%llu steps)\n", "events", count, static_cast<unsigned long long>(written->steps));

  SealOptions to_seal;
  to_seal.directory = folder;
  to_seal.output = folder + "/run.tapelens";
  Measured measured{count, 0, 0};
  auto begin = std::chrono::steady_clock::now();
  double processor_begin = processor_seconds();
  const auto summary = seal(to_seal);
  const double sealing = seconds_since(begin);
  measured.sealing = processor_seconds() - processor_begin;
  if (!summary) {
    std::fprintf(stderr, "%s\n", summary.error().message.c_str());
    return std::nullopt;
  }
  for (const auto& loss : summary->losses)
    std::printf("lost: kind %d, %llu times\n", static_cast<int>(loss.kind),
                static_cast<unsigned long long>(loss.count));
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%-34s %12.2f\n", "bytes an event in the spool", static_cast<double>(summary->spool_bytes) / count);
  std::printf("%-34s %12.2f\n", "bytes an event in the sealed file", static_cast<double>(summary->file_bytes) / count);
  std::printf("%-34s %12.2f  (%.2f s)\n", "million events sealed a second", count / sealing / 1e6, sealing);

  begin = std::chrono::steady_clock::now();
  processor_begin = processor_seconds();
  auto recording = Recording::open(to_seal.output);
  if (!recording) {
    std::fprintf(stderr, "%s\n", recording.error().message.c_str());
    return std::nullopt;
  }
  const double opening = seconds_since(begin);
  uint64_t values = 0;
  for_each_key([&](const auto& key) {
    const auto column_begin = std::chrono::steady_clock::now();
    const auto column = recording->column(key);
    values += column.size() - 1;
    if (shows_columns && column.size() > 1)
      std::printf("  table %2d %-16s %10zu rows  %6.1f ms\n", static_cast<int>(key.table), key.name, column.size() - 1,
                  1e3 * seconds_since(column_begin));
  });
  const double reading = seconds_since(begin);
  measured.reading = processor_seconds() - processor_begin;
  std::printf("%-34s %12.2f  (%.2f s, opened in %.2f s, %llu values)\n", "million events decoded a second",
              count / reading / 1e6, reading, opening, static_cast<unsigned long long>(values));
  std::printf("%-34s %12.1f  (the spool's mapped pages among them)\n", "MiB resident at most, sealing",
              static_cast<double>(usage.ru_maxrss) / 1024);
  return measured;
}

int run(uint64_t events, bool shows_columns) {
  stay_on_this_core();
  const auto half = measure(events / 2, false);
  const auto whole = half ? measure(events, shows_columns) : std::nullopt;
  if (!whole) return 1;
  const auto print = [&](const char* what, double Measured::*seconds) {
    std::printf("%-34s %12.2f\n", what, exponent(half->events, *half.*seconds, whole->events, *whole.*seconds));
  };
  print("exponent of sealing", &Measured::sealing);
  print("exponent of reading", &Measured::reading);
  return 0;
}

}  // namespace
}  // namespace tapelens::bench

int main(int argc, char** argv) {
  uint64_t events = 10'000'000;
  bool shows_columns = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--columns") {
      shows_columns = true;
    } else {
      events = std::strtoull(argument.c_str(), nullptr, 10);
    }
  }
  if (events < 2) {
    std::fprintf(stderr, "usage: tapelens-bench-reading [EVENTS] [--columns]\n");
    return 2;
  }
  return tapelens::bench::run(events, shows_columns);
}
