// Parses the settings in PYTORCH_CUDA_ALLOC_CONF that decide how the caching allocator chooses blocks.
//
// https://pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapelens::allocator {

inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr uint64_t kNoLimit = UINT64_MAX;

// The first choice among cached blocks of one size: the block of the oldest segment (PyTorch from 2.12 on,
// pytorch#183591), or the block at the lowest address. Only the version of PyTorch decides.
enum class Order : uint8_t { by_age, by_address };
// "2.15.0+cu130"; none: the text has no version.
std::optional<Order> order_of(std::string_view torch_version);

struct AllocatorSettings {
  Order order = Order::by_age;
  bool expandable_segments = false;
  uint64_t max_split_size = kNoLimit;            // larger or equal blocks are not split
  uint64_t max_non_split_rounding = 20 * kMiB;   // most unused bytes of such a block for a request
  uint64_t large_segment_size = 20 * kMiB;       // size of segments for requests between 1 and 10 MiB
  double garbage_collection_threshold = 0;       // fraction of the process's limit; 0: never
  std::array<uint64_t, 16> roundup_divisions{};  // for each power of two, from 1 MiB on; 0: multiples of 512 bytes

  // The divisions for requests of `bytes` bytes.
  uint64_t divisions_of(uint64_t bytes) const;
  bool operator==(const AllocatorSettings&) const = default;
};

// The parser skips keys without effect on the choice of blocks, such as those about pinned memory.
struct ParsedSettings {
  AllocatorSettings settings;
  std::vector<std::string> unknown;  // keys outside the model, and unreadable text
};
ParsedSettings parse_settings(std::string_view text);

}  // namespace tapelens::allocator
