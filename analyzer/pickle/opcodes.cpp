#include "analyzer/pickle/opcodes.h"

#include <array>
#include <cstdio>
#include <utility>

#include "analyzer/pickle/window.h"

namespace tapelens::pickle {

namespace {

constexpr uint8_t kOldest = 2, kNewest = 5;

// Opcodes that make a reader import a name, call it, or fetch an object by a number.
constexpr std::pair<uint8_t, const char*> kCalls[] = {
    {'c', "GLOBAL"}, {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},     {'b', "BUILD"},       {'i', "INST"},
    {'o', "OBJ"},    {0x81, "NEWOBJ"},       {0x92, "NEWOBJ_EX"}, {'P', "PERSID"},      {'Q', "BINPERSID"},
    {0x82, "EXT1"},  {0x83, "EXT2"},         {0x84, "EXT4"},      {0x97, "NEXT_BUFFER"}};

}  // namespace

std::string refused(uint8_t opcode) {
  for (const auto& [code, name] : kCalls) {
    if (code == opcode) {
      return std::string("it asks to import or call something (") + name +
             "), which no memory snapshot does; nothing of it was executed";
    }
  }
  std::array<char, 8> hex{};
  std::snprintf(hex.data(), hex.size(), "0x%02x", opcode);
  return std::string("opcode ") + hex.data() + " does not occur in memory snapshots of PyTorch";
}

uint64_t length_of_text(Window& window, Opcode opcode) {
  const uint64_t at = window.offset() - 1;
  const uint64_t length = opcode == Opcode::short_binunicode ? window.byte()
                          : opcode == Opcode::binunicode     ? window.number<uint32_t>()
                                                             : window.number<uint64_t>();
  if (length > window.left()) throw Malformed{at, "a text that is longer than the rest of the file"};
  return length;
}

void skip_frame(Window& window) {
  const uint64_t at = window.offset() - 1;
  if (window.number<uint64_t>() > window.left())
    throw Malformed{at, "a frame that is longer than the rest of the file"};
}

void begin(Window& window) {
  const uint8_t first = window.left() > 0 ? window.byte() : uint8_t{0};
  if (first != static_cast<uint8_t>(Opcode::proto)) throw Malformed{0, "not a pickle of protocol 2 to 5"};
  const uint8_t protocol = window.byte();
  if (protocol < kOldest || protocol > kNewest) {
    throw Malformed{1, "a pickle of protocol " + std::to_string(protocol) + ", and 2 to 5 are read"};
  }
}

}  // namespace tapelens::pickle
