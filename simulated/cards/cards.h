// Which GPUs can be simulated: what a driver tells of each, as far as a program's memory and choice of kernels depend
// on it. Used by the command line.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "trace/result.h"

namespace tapelens::simulated {

// The part of a GPU that follows from its compute capability. Source: CUDA C++ Programming Guide, "Technical
// Specifications per Compute Capability".
struct Capability {
  uint32_t major, minor;
  uint32_t shared_per_block;      // bytes, with opt-in
  uint32_t shared_per_processor;  // bytes
  uint32_t threads_per_processor, blocks_per_processor;
};

struct Card {
  std::string_view id;    // what --simulate-gpu takes: "H100"
  std::string_view name;  // what the driver calls it: "NVIDIA H100 80GB HBM3"
  // What is left for programs, as PyTorch shows it (torch.cuda.get_device_properties), on machines that published it.
  // Drivers differ by some MiB: where that matters, say the size (H100:79.1GiB).
  uint64_t mebibytes;
  uint32_t major, minor;  // compute capability
  uint32_t processors;    // streaming multiprocessors, NVIDIA's data sheets
  uint32_t l2_mebibytes;  // NVIDIA's data sheets
  uint32_t bus_bits;

  uint64_t bytes() const { return mebibytes << 20; }
};

// All of them, in the order in which they are listed: newest first.
std::span<const Card> cards();
// The capability of a card of the list.
const Capability& capability_of(const Card& card);
// By its id: case, dashes, underscores and spaces are of no account. Null if there is none.
const Card* find_card(std::string_view id);

// What was asked for: "H100", "H100x8", "H100:24GiB", "H100:24GiBx8".
struct Request {
  const Card* card = nullptr;
  uint64_t bytes = 0;  // of each
  uint32_t count = 1;  // 1 to kMostCards
};
inline constexpr uint32_t kMostCards = 64;  // CUDA's driver has as many
inline constexpr uint64_t kLeastBytes = uint64_t{64} << 20;
using ReadSize = std::function<std::optional<uint64_t>(std::string_view)>;  // "24GiB" to bytes
// A text that asks for no card is an error that names what is wrong with it.
trace::Result<Request> read_request(std::string_view text, const ReadSize& read_size);

}  // namespace tapelens::simulated
