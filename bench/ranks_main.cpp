// tapelens-synthetic-ranks FOLDER [RANKS [EVENTS]]: writes the recordings of a synthetic run into a folder, one for
// each rank, each with so many events and a summary, for `time tapelens ranks FOLDER` and `bench/queries.py`. One rank
// keeps tensors of each step, so its tables differ from those of the others.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "testing/synthetic.h"
#include "testing/synthetic_ranks.h"
#include "trace/seal.h"

namespace {

int fail(const tapelens::trace::Error& error) {
  std::fprintf(stderr, "tapelens-synthetic-ranks: %s\n", error.message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tapelens;
  if (argc < 2 || argc > 4) {
    std::fprintf(stderr, "usage: tapelens-synthetic-ranks FOLDER [RANKS [EVENTS]]\n");
    return 2;
  }
  const auto world = static_cast<uint32_t>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1024);
  testing::SyntheticOptions options;
  options.events = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 20'000;
  const std::string folder = argv[1], spools = folder + "/spools";
  options.processes = world;
  std::error_code ignored;
  const testing::SyntheticRanks synthetic(world, TAPELENS_VERSION);
  size_t bytes = 0;
  for (uint32_t rank = 0; rank < world; ++rank) {
    std::filesystem::create_directories(spools, ignored);
    options.kept = static_cast<int32_t>(rank) == testing::kKeepsMore ? 2 : 0;
    if (const auto written = testing::write_synthetic_spool(spools + "/1.spool", options, rank); !written) {
      return fail(written.error());
    }
    trace::SealOptions sealing;
    sealing.directory = spools;
    sealing.output = folder + "/rank" + std::to_string(rank) + ".tapelens";
    sealing.command = "python train.py";
    sealing.summarize = [&](const std::string&) {
      std::string summary = ranks::summary_json(synthetic.of(static_cast<int32_t>(rank)));
      bytes += summary.size();
      return summary;
    };
    if (const auto sealed = trace::seal(sealing); !sealed) return fail(sealed.error());
    std::filesystem::remove_all(spools, ignored);
  }
  std::printf("%s: %u ranks, %zu bytes of summary each\n", folder.c_str(), world, bytes / world);
  return 0;
}
