#include "analyzer/export/pickle.h"

#include <algorithm>

namespace tapelens::exporting {
namespace {

constexpr uint64_t kBatch = 1000;  // as Python's pickle

}  // namespace

Pickle::Pickle(ByteSink& sink) : sink_(sink) { sink_.write("\x80\x04"); }

void Pickle::finish() { sink_.write('.'); }

void Pickle::little_endian(uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) sink_.write(static_cast<char>(value >> (8 * i)));
}

void Pickle::number(int64_t value) {
  if (value >= 0) return number_of(static_cast<uint64_t>(value));
  if (value >= INT32_MIN) {
    sink_.write('J');
    return little_endian(static_cast<uint64_t>(value), 4);
  }
  sink_.write("\x8a\x08");
  little_endian(static_cast<uint64_t>(value), 8);
}

void Pickle::number_of(uint64_t value) {
  if (value <= UINT8_MAX) {
    sink_.write('K');
    little_endian(value, 1);
  } else if (value <= UINT16_MAX) {
    sink_.write('M');
    little_endian(value, 2);
  } else if (value <= INT32_MAX) {
    sink_.write('J');
    little_endian(value, 4);
  } else {  // two's complement; the highest byte keeps the number positive
    int bytes = 5;
    while (bytes < 9 && value >> (8 * bytes - 1) != 0) ++bytes;
    sink_.write('\x8a');
    sink_.write(static_cast<char>(bytes));
    little_endian(value, std::min(bytes, 8));
    if (bytes == 9) sink_.write('\0');
  }
}

void Pickle::text(std::string_view utf8) {
  if (utf8.size() <= UINT8_MAX) {
    sink_.write('\x8c');
    little_endian(utf8.size(), 1);
  } else {
    sink_.write('X');
    little_endian(utf8.size(), 4);
  }
  sink_.write(utf8);
}

void Pickle::pair(uint64_t first, uint64_t second) {
  number_of(first);
  number_of(second);
  sink_.write('\x86');
}

void Pickle::key(std::string_view name) {
  const auto [at, is_new] = keys_.try_emplace(std::string(name));
  if (!is_new) return get(at->second);
  text(name);
  at->second = remember();
}

void Pickle::begin_list() {
  sink_.write(']');
  items_.push_back(0);
}

void Pickle::item() {
  if (items_.back() % kBatch == 0) sink_.write(items_.back() == 0 ? "(" : "e(");
  ++items_.back();
}

void Pickle::end_list() {
  if (items_.back() > 0) sink_.write('e');
  items_.pop_back();
}

Pickle::Remembered Pickle::remember() {
  sink_.write('\x94');
  return remembered_++;
}

void Pickle::get(Remembered value) {
  if (value <= UINT8_MAX) {
    sink_.write('h');
    little_endian(value, 1);
  } else {
    sink_.write('j');
    little_endian(value, 4);
  }
}

}  // namespace tapelens::exporting
