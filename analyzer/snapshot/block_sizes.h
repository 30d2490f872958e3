// Computes the sizes of the blocks of PyTorch's allocator. The history has only the requested sizes and the addresses.
#pragma once

#include <cstdint>
#include <map>

#include "analyzer/allocator/settings.h"
#include "analyzer/snapshot/pieces.h"

namespace tapelens::snapshot {

class BlockSizes {
 public:
  explicit BlockSizes(const allocator::AllocatorSettings& settings) : settings_(settings) {}

  // The size of a new block at an address. The block must not be alive yet.
  uint64_t bytes_of(uint64_t address, uint64_t requested, const Pieces& pieces) const;
  void add(uint64_t address, uint64_t bytes);
  void remove(uint64_t address, uint64_t bytes);

 private:
  const allocator::AllocatorSettings settings_;
  std::map<uint64_t, uint64_t> large_;  // live blocks by address; small blocks always have the requested size
};

}  // namespace tapelens::snapshot
