#include "analyzer/snapshot/pieces.h"

#include <iterator>

namespace tapelens::snapshot {

void Pieces::add(const Piece& piece) {
  if (piece.bytes == 0) return;
  remove(piece.address, piece.bytes);
  pieces_[piece.address] = piece;
}

void Pieces::remove(uint64_t address, uint64_t bytes) {
  const uint64_t end = address + bytes;
  auto at = pieces_.upper_bound(address);
  if (at != pieces_.begin()) --at;
  while (at != pieces_.end() && at->first < end) {
    const Piece piece = at->second;
    if (piece.end() <= address) {
      ++at;
      continue;
    }
    at = pieces_.erase(at);
    if (piece.address < address) {
      Piece rest = piece;
      rest.bytes = address - piece.address;
      pieces_[rest.address] = rest;
    }
    if (piece.end() > end) {
      Piece rest = piece;
      rest.address = end;
      rest.bytes = piece.end() - end;
      at = pieces_.emplace(end, rest).first;
    }
  }
}

std::vector<Piece> Pieces::without(const Pieces& others) const {
  Pieces rest = *this;
  for (const auto& [address, piece] : others.pieces_) rest.remove(address, piece.bytes);
  return rest.all();
}

std::vector<Piece> Pieces::all() const {
  std::vector<Piece> out;
  for (const auto& [address, piece] : pieces_) out.push_back(piece);
  return out;
}

const Piece* Pieces::at(uint64_t address) const {
  const auto behind = pieces_.upper_bound(address);
  if (behind == pieces_.begin()) return nullptr;
  const Piece& piece = std::prev(behind)->second;
  return address < piece.end() ? &piece : nullptr;
}

}  // namespace tapelens::snapshot
