// tapelens gpus: lists the GPUs that can be simulated.
#include <cstdio>

#include "cli/commands.h"
#include "cli/output.h"
#include "simulated/cards/cards.h"

namespace tapelens::cli {
namespace {

std::string row(const simulated::Card& card) {
  char line[160];
  std::snprintf(line, sizeof(line), "%-14s%9.2f GiB   %2u.%-10u %4u    %4u MiB  %s\n", std::string(card.id).c_str(),
                static_cast<double>(card.mebibytes) / 1024, card.major, card.minor, card.processors, card.l2_mebibytes,
                std::string(card.name).c_str());
  return line;
}

}  // namespace

void add_gpus(CLI::App& app, int& exit_code) {
  CLI::App* sub = app.add_subcommand("gpus", "List the GPUs that --simulate-gpu knows");
  sub->footer(
      "Examples:\n"
      "  tapelens gpus\n"
      "  tapelens record --simulate-gpu H100 -- python train.py\n"
      "  tapelens record --simulate-gpu H100x8 -- torchrun --nproc-per-node 8 train.py\n"
      "  tapelens run --simulate-gpu A100-80GB:24GiB -- python train.py   with another amount of memory\n\n"
      "Memory is what a driver leaves for programs, by some MiB more or less; compute capability, multiprocessors "
      "(SMs)\n"
      "and L2 cache are as published by NVIDIA. More: docs/simulated-gpu.md");
  sub->callback([&exit_code] {
    std::string text = "GPU              memory       capability    SMs          L2  as the driver calls it\n";
    for (const simulated::Card& card : simulated::cards()) text += row(card);
    exit_code = print_output(text);
  });
}

}  // namespace tapelens::cli
