#include "analyzer/peak/in_use.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

namespace tapelens::peak {
namespace {

// A part of the path of a frame's file, which shows what the program uses.
template <class Kind>
struct Sign {
  std::string_view part;
  Kind kind;
};

constexpr Sign<Technique> kTechniques[] = {
    {"/torch/distributed/fsdp/", Technique::sharding},
    {"/torch/distributed/_composable/fsdp/", Technique::sharding},
    {"/deepspeed/runtime/zero/", Technique::sharding},
    {"/torch/nn/parallel/distributed.py", Technique::data_parallel},
    {"/torch/utils/checkpoint.py", Technique::checkpointing},
    {"/activation_checkpointing/", Technique::checkpointing},  // deepspeed
    {"/peft/tuners/", Technique::adapters},
};

constexpr Sign<Framework> kFrameworks[] = {
    {"/transformers/trainer", Framework::transformers_trainer},
    {"/transformers/models/", Framework::transformers_model},
    {"/trl/trainer/", Framework::trl},
    {"/pytorch_lightning/", Framework::lightning},
    {"/lightning/pytorch/", Framework::lightning},
    {"/diffusers/models/", Framework::diffusers},
    {"/accelerate/accelerator.py", Framework::accelerate},
    {"/accelerate/optimizer.py", Framework::accelerate},
};

// Parts of the names of optimizers, as classes of torch.optim, bitsandbytes, torchao and transformers have them.
constexpr std::string_view kCompact[] = {"8bit", "4bit", "Fp8", "Adafactor"};

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

void add_files(const Text& text, InUse& found) {
  std::vector<uint8_t> is_seen(text.string_begin.size());
  for (const uint32_t name : text.frame_file.raw) {
    if (is_seen[name]++ != 0) continue;
    const std::string_view file = text.string(StringId{name});
    for (const auto& sign : kTechniques) {
      if (contains(file, sign.part)) found.add(sign.kind);
    }
    for (const auto& sign : kFrameworks) {
      if (contains(file, sign.part)) found.add(sign.kind);
    }
  }
}

void add_operators(const Process& p, const Text& text, InUse& found) {
  std::vector<uint8_t> is_seen(text.string_begin.size());
  for (const uint32_t name : p.operators.name.raw) {
    if (is_seen[name]++ == 0 && text.string(StringId{name}).starts_with("fsdp::")) found.add(Technique::sharding);
  }
}

void add_optimizers(const Process& p, const Text& text, InUse& found) {
  for (const OptimizerStep& step : p.optimizer_steps) {
    const std::string_view name = text.string(step.optimizer);
    if (std::ranges::any_of(kCompact, [&](std::string_view part) { return contains(name, part); })) {
      found.add(Technique::compact_optimizer);
    }
    // Backwards are in the order of their begins. One inside another ends before it.
    const auto after = std::ranges::upper_bound(p.backwards, step.when.begin, {}, &Backward::begin);
    if (after != p.backwards.begin() && std::prev(after)->contains(step.when.begin)) {
      found.add(Technique::step_in_backward);
    }
  }
}

bool is_channels_last(const Text& text, LayoutId layout) {
  const auto sizes = text.sizes(layout);
  const auto strides = text.strides(layout);
  return sizes.size() >= 4 && strides.size() == sizes.size() && sizes[1] > 1 && sizes[2] * sizes[3] > 1 &&
         strides[1] == 1 && strides[3] == static_cast<int64_t>(sizes[1]);
}

void add_layouts(const Process& p, const Text& text, const std::vector<bool>& is_parameter, InUse& found) {
  std::vector<bool> is_counted(is_parameter.size());
  Bytes half, all;
  for (const SaveId save : p.saves.ids()) {
    const LayoutId layout = p.saves.layout[save];
    const AllocationId allocation = p.saves.allocation[save];
    if (!layout || !allocation) continue;
    if (!is_parameter[allocation.value]) {
      const bool is_of_convolution = contains(text.string(p.nodes.type[p.saves.node[save]]), "Convolution");
      if (is_of_convolution && is_channels_last(text, layout)) found.add(Technique::channels_last);
      continue;
    }
    if (is_counted[allocation.value]) continue;
    is_counted[allocation.value] = true;
    all += p.allocations.bytes[allocation];
    if (text.layout_element_bytes[layout] <= 2) half += p.allocations.bytes[allocation];
  }
  if (half > Bytes{} && 2 * half.value > all.value) found.add(Technique::half_weights);
}

// Operators of autocast's list for lower precision. Without autocast they cast no input.
bool is_autocast(std::string_view name) {
  constexpr std::string_view kNames[] = {"linear", "matmul", "mm", "addmm", "bmm", "baddbmm", "einsum"};
  return name.starts_with("conv") || std::ranges::find(kNames, name) != std::end(kNames);
}

void add_casts(const Process& p, const Provenance& provenance, const std::vector<bool>& is_parameter, InUse& found) {
  for (const AllocationId allocation : p.allocations.ids()) {
    const Copy copy = provenance.copy_of(allocation);
    if (!copy.source || !is_parameter[copy.source.value] || provenance.name(copy.op) != "_to_copy") continue;
    if (is_autocast(provenance.name(provenance.called(copy.op)))) return found.add(Technique::autocast);
  }
}

}  // namespace

bool is_file_of(std::string_view file, Framework framework) {
  return std::ranges::any_of(
      kFrameworks, [&](const Sign<Framework>& sign) { return sign.kind == framework && contains(file, sign.part); });
}

InUse in_use(const Process& process, const Text& text, const Provenance& provenance) {
  InUse found;
  add_files(text, found);
  add_operators(process, text, found);
  add_optimizers(process, text, found);
  const std::vector<bool> is_parameter = parameters_of(process);
  add_layouts(process, text, is_parameter, found);
  add_casts(process, provenance, is_parameter, found);
  return found;
}

}  // namespace tapelens::peak
