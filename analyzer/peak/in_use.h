// The techniques against memory and the frameworks that a program uses already, as far as its recording shows them.
// Advice does not offer a technique in use, and names the others in the words of the framework.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "analyzer/model/provenance.h"

namespace tapelens::peak {

using namespace model;

enum class Technique : uint8_t {
  sharding,           // FSDP, ZeRO
  data_parallel,      // DDP
  checkpointing,      // of activations
  autocast,           // a weight is cast inside an operator that computes with it
  half_weights,       // most saved weights have 2 bytes an element, or fewer
  adapters,           // LoRA and its relatives
  compact_optimizer,  // with 8-bit or factored state
  step_in_backward,   // an optimizer steps while a backward runs
  channels_last,
};

enum class Framework : uint8_t {
  transformers_trainer,
  transformers_model,
  trl,
  lightning,
  diffusers,
  accelerate,
};

class InUse {
 public:
  InUse() = default;
  InUse(std::initializer_list<Technique> techniques, std::initializer_list<Framework> frameworks = {}) {
    for (const Technique one : techniques) add(one);
    for (const Framework one : frameworks) add(one);
  }

  bool has(Technique one) const { return (techniques_ >> static_cast<int>(one) & 1U) != 0; }
  bool has(Framework one) const { return (frameworks_ >> static_cast<int>(one) & 1U) != 0; }
  void add(Technique one) { techniques_ |= 1U << static_cast<int>(one); }
  void add(Framework one) { frameworks_ |= 1U << static_cast<int>(one); }

 private:
  uint32_t techniques_ = 0, frameworks_ = 0;
};

// Whether the path of a frame's file shows the framework.
bool is_file_of(std::string_view file, Framework framework);

InUse in_use(const Process& process, const Text& text, const Provenance& provenance);

}  // namespace tapelens::peak
