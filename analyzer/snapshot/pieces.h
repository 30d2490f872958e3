// A device's memory as pieces: segments, and the mapped parts of expandable segments.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analyzer/snapshot/snapshot.h"

namespace tapelens::snapshot {

struct Piece {
  uint64_t address = 0, bytes = 0, stream = 0;
  PoolId pool;
  bool is_expandable = false;
  uint64_t end() const { return address + bytes; }
};

class Pieces {
 public:
  // Removes the range of `piece` from the other pieces.
  void add(const Piece& piece);
  void remove(uint64_t address, uint64_t bytes);
  // The memory that is not in `others`, in the order of addresses. Pieces that are partly in `others` keep the rest.
  std::vector<Piece> without(const Pieces& others) const;
  std::vector<Piece> all() const;
  // The piece in which an address is; null: none.
  const Piece* at(uint64_t address) const;

 private:
  std::map<uint64_t, Piece> pieces_;
};

}  // namespace tapelens::snapshot
