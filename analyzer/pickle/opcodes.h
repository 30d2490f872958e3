// The opcodes of pickle, protocols 2 to 5, that writers of PyTorch's snapshots use: Python's pickle of plain
// containers, and the C++ pickler of torch/csrc/jit/serialization. All others are refused, in particular those that
// import or call (https://docs.python.org/3/library/pickletools.html).
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

// Why an unknown opcode is refused.
std::string refused(uint8_t opcode);

// Reads the length after a text's opcode; it is at most the rest of the file.
uint64_t length_of_text(Window& window, Opcode opcode);
// Skips the content of `frame`, which only says how the writer split its output.
void skip_frame(Window& window);
// Reads the first opcode; throws Malformed unless it is that of a supported protocol.
void begin(Window& window);

}  // namespace tapelens::pickle
