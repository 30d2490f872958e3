// Writes a Python pickle of protocol 4. Uses only the opcodes for dictionaries, lists, tuples, text and numbers, which
// pickle.load and the viewers of PyTorch's snapshots read. The output never calls anything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/export/sink.h"

namespace tapelens::exporting {

class Pickle {
 public:
  // A written value that can be referred to by its number.
  using Remembered = uint32_t;

  explicit Pickle(ByteSink& sink);
  void finish();

  void number(int64_t value);
  void number_of(uint64_t value);
  void boolean(bool value) { sink_.write(value ? '\x88' : '\x89'); }
  void text(std::string_view utf8);
  void pair(uint64_t first, uint64_t second);  // writes a tuple

  // Between begin and end, write key() and a value alternately.
  void begin_dict() { sink_.write("}("); }
  void key(std::string_view name);
  void end_dict() { sink_.write('u'); }

  // Between begin and end, call item() before each value: readers expect batches.
  void begin_list();
  void item();
  void end_list();

  Remembered remember();  // remembers the last written value
  void get(Remembered value);

 private:
  void little_endian(uint64_t value, int bytes);

  ByteSink& sink_;
  Remembered remembered_ = 0;
  std::unordered_map<std::string, Remembered> keys_;
  std::vector<uint64_t> items_;  // of each open list
};

}  // namespace tapelens::exporting
