// Writes a Python pickle, protocol 4: the opcodes that dictionaries, lists, tuples, text and numbers take, which are
// those that pickle.load and the viewers of PyTorch's snapshots read. Nothing that it writes calls anything.
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
  // A value that was written and is named by its number from then on.
  using Remembered = uint32_t;

  explicit Pickle(Sink& sink);
  void finish();

  void number(int64_t value);
  void number_of(uint64_t value);
  void boolean(bool value) { sink_.write(value ? '\x88' : '\x89'); }
  void text(std::string_view utf8);
  void pair(uint64_t first, uint64_t second);  // a tuple

  // Between these, key() and a value after each other.
  void begin_dict() { sink_.write("}("); }
  void key(std::string_view name);
  void end_dict() { sink_.write('u'); }

  // Between these, item() before each value: a reader takes them in batches.
  void begin_list();
  void item();
  void end_list();

  Remembered remember();  // the value that was written last
  void get(Remembered value);

 private:
  void little_endian(uint64_t value, int bytes);

  Sink& sink_;
  Remembered remembered_ = 0;
  std::unordered_map<std::string, Remembered> keys_;
  std::vector<uint64_t> items_;  // of each list that is open
};

}  // namespace tapelens::exporting
