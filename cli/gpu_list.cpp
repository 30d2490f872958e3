#include "cli/gpu_list.h"

#include <cstdio>

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

int list_gpus() {
  std::string text = "GPU              memory       capability    SMs          L2  as the driver calls it\n";
  for (const simulated::Card& card : simulated::cards()) text += row(card);
  return print_output(text);
}

}  // namespace tapelens::cli
