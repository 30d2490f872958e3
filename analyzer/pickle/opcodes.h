// The opcodes of pickle, protocols 2 to 5, that the writers of PyTorch's snapshots use: Python's pickle of plain
// containers, and the C++ pickler of torch/csrc/jit/serialization. All others are refused, first of all those that
// import or call something (https://docs.python.org/3/library/pickletools.html).
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/pickle/window.h"

namespace tapelens::pickle {

enum class Opcode : uint8_t {
  proto = 0x80,
  frame = 0x95,
  stop = '.',
  mark = '(',
  none = 'N',
  new_true = 0x88,
  new_false = 0x89,
  binint = 'J',
  binint1 = 'K',
  binint2 = 'M',
  long1 = 0x8a,
  binfloat = 'G',
  binunicode = 'X',
  short_binunicode = 0x8c,
  binunicode8 = 0x8d,
  empty_list = ']',
  append = 'a',
  appends = 'e',
  empty_tuple = ')',
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  tuple = 't',
  empty_dict = '}',
  setitem = 's',
  setitems = 'u',
  binput = 'q',
  long_binput = 'r',
  memoize = 0x94,
  binget = 'h',
  long_binget = 'j',
};

// Why an opcode that is none of these is refused.
std::string refused(uint8_t opcode);

// What is behind texts' opcodes: how long they are, no more than the file has left.
uint64_t length_of_text(Window& window, Opcode opcode);
// Behind `frame`: how the writer cut its output; it says nothing else.
void skip_frame(Window& window);
// The first opcode of a pickle; throws Malformed if it is none of a protocol that is read.
void begin(Window& window);

}  // namespace tapelens::pickle
