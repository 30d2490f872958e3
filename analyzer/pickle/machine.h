// Makes the values of a pickle, from the inside out, and has each container turned into something smaller as soon as it
// is there: what is larger than memory is never in memory as a whole.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/pickle/memo.h"
#include "analyzer/pickle/window.h"

namespace tapelens::pickle {

enum class Kind : uint8_t { mark, none, boolean, integer, real, text, empty_list, empty_dict, tuple, made };

struct Value {
  uint64_t payload = 0;  // integer: its 64 bits; boolean: 1; text: what Maker::text answered; made: Maker's
  Kind kind = Kind::none;
  uint8_t what = 0;          // made: Maker's
  bool is_negative = false;  // of an integer
  bool is_shared = false;    // it was referred to, or is part of another: it cannot change any more
  uint32_t slot = 0;         // of the memo; the Machine's
};
static_assert(sizeof(Value) == 16);

// What becomes of texts and containers. Each may throw Malformed with offset 0: it is where the container ends.
class Maker {
 public:
  virtual ~Maker() = default;
  // The view is valid during the call.
  virtual uint64_t text(std::string_view text) = 0;
  // `before`: an empty_list, or what this function made of the items before; writers add a thousand at a time.
  virtual Value list(const Value& before, std::span<const Value> items) = 0;
  // The same: keys and values by turns, never an odd number.
  virtual Value dict(const Value& before, std::span<const Value> pairs) = 0;
  virtual Value tuple(std::span<const Value> items) = 0;
};

// The value of the whole pickle. `progress` is told how many bytes were read. Throws Malformed. `window` is at the
// beginning of the file that `memo` is of.
Value read(Window& window, const MemoUse& memo, Maker& maker, const std::function<void(uint64_t)>& progress);

}  // namespace tapelens::pickle
