// The GPUs that can be simulated, with the properties that affect a program's memory and choice of kernels. Used by the
// command line.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "trace/result.h"

namespace tapelens::simulated {

// Properties of a GPU that follow from its compute capability. Source: CUDA C++ Programming Guide, "Technical
// Specifications per Compute Capability".
struct Capability {
  uint32_t major, minor;
  uint32_t shared_per_block;      // bytes, with opt-in
  uint32_t shared_per_processor;  // bytes
  uint32_t threads_per_processor, blocks_per_processor;
};

struct Card {
  std::string_view id;    // the name for --gpu: "H100"
  std::string_view name;  // the driver's name: "NVIDIA H100 80GB HBM3"
  // Memory available to programs, as PyTorch shows it (torch.cuda.get_device_properties), from published outputs.
  // Drivers differ by some MiB: if that matters, give the size (H100:79.1GiB).
  uint64_t mebibytes;
  uint32_t major, minor;  // compute capability
  uint32_t processors;    // streaming multiprocessors, NVIDIA's data sheets
  uint32_t l2_mebibytes;  // NVIDIA's data sheets
  uint32_t bus_bits;

  uint64_t bytes() const { return mebibytes << 20; }
};

// All cards, in the order of their list: newest first.
std::span<const Card> cards();
// The capability of a card in the list.
const Capability& capability_of(const Card& card);
// Finds a card by its id, ignoring case, dashes, underscores and spaces. Null if no card matches.
const Card* find_card(std::string_view id);

// A parsed request: "H100", "H100x8", "H100:24GiB", "H100:24GiBx8".
struct Request {
  const Card* card = nullptr;
  uint64_t bytes = 0;  // of each GPU
  uint32_t count = 1;  // 1 to kMostCards
};
inline constexpr uint32_t kMostCards = 64;  // the limit of CUDA's driver
inline constexpr uint64_t kLeastBytes = uint64_t{64} << 20;
using ReadSize = std::function<std::optional<uint64_t>(std::string_view)>;  // "24GiB" to bytes
// Parses a request. An invalid text is an error that names the invalid part.
trace::Result<Request> read_request(std::string_view text, const ReadSize& read_size);

}  // namespace tapelens::simulated
