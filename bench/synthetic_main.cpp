// tapelens-synthetic FOLDER [EVENTS]: writes the spools of a synthetic run into a folder, for `tapelens seal`. With
// --rate it writes them in real time, for `tapelens top` and the window, and prints the time (CLOCK_MONOTONIC, in
// seconds) and the written events about 100 times a second.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include "testing/synthetic.h"
#include "trace/spool_writer.h"

namespace {

int write(const std::string& folder, const tapelens::testing::SyntheticOptions& options) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    std::fprintf(stderr, "tapelens-synthetic: %s: %s\n", folder.c_str(), failed.message().c_str());
    return 1;
  }
  const auto written = tapelens::testing::write_synthetic_spools(folder, options);
  if (!written) {
    std::fprintf(stderr, "tapelens-synthetic: %s\n", written.error().message.c_str());
    return 1;
  }
  std::printf("%s: %llu events in %llu steps\n", folder.c_str(), static_cast<unsigned long long>(written->events),
              static_cast<unsigned long long>(written->steps));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tapelens::testing;
  CLI::App app("Write the spools of a synthetic training run into a folder, for `tapelens seal`", "tapelens-synthetic");
  std::string folder;
  SyntheticOptions options;
  app.option_defaults()->always_capture_default();
  app.add_option("FOLDER", folder, "The folder of the spools; made if it does not exist")->required();
  app.add_option("EVENTS", options.events, "Events of each process; the last step is complete")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 40));
  app.add_option("--layers", options.layers, "Blocks of the model, with six parameters each")
      ->check(CLI::Range(1U, kMostSyntheticLayers));
  app.add_option("--depth", options.depth, "Modules inside each other around the blocks")
      ->check(CLI::Range(0U, kMostSyntheticDepth));
  app.add_option("--threads", options.threads, "Threads that load a batch in each step")
      ->check(CLI::Range(1U, kMostSyntheticThreads));
  app.add_option("--kept", options.kept, "Tensors of each step that the program never frees");
  app.add_option("--processes", options.processes, "Processes with the same work")->check(CLI::Range(1U, 1024U));
  app.add_flag("--foreach", options.foreach_optimizer,
               "Update parameters with operators over 2048 of them, not one by one");
  app.add_option("--rate", options.rate, "Events a second, in real time; 0: as fast as possible");
  options.on_pause = [parts = 0](uint64_t events) mutable {
    if (parts++ % 10 == 0)
      std::printf("%.6f %llu\n", static_cast<double>(tapelens::trace::monotonic_ns()) / 1e9,
                  static_cast<unsigned long long>(events));
  };
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : 2;
  }
  return write(folder, options);
}
