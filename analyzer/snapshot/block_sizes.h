// How large a block is that PyTorch's allocator gives out: its history says what was asked for, and where.
#pragma once

#include <cstdint>
#include <map>

#include "analyzer/allocator/settings.h"
#include "analyzer/snapshot/pieces.h"

namespace tapelens::snapshot {

class BlockSizes {
 public:
  explicit BlockSizes(const allocator::Settings& settings) : settings_(settings) {}

  // Of a block at an address, which is not among those that are alive.
  uint64_t bytes_of(uint64_t address, uint64_t requested, const Pieces& pieces) const;
  void add(uint64_t address, uint64_t bytes);
  void remove(uint64_t address, uint64_t bytes);

 private:
  const allocator::Settings settings_;
  std::map<uint64_t, uint64_t> large_;  // alive, by address: small ones are always as large as what was asked for
};

}  // namespace tapelens::snapshot
