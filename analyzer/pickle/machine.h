// Builds the values of a pickle from the inside out. A Maker replaces each finished container with a smaller value, so
// that a value larger than memory is never in memory as a whole.
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
  uint64_t payload = 0;  // integer: its 64 bits; boolean: 1; text: result of Maker::text; made: from the Maker
  Kind kind = Kind::none;
  uint8_t what = 0;          // made: from the Maker
  bool is_negative = false;  // for an integer
  bool is_shared = false;    // referred to by, or part of, another value, so it cannot change any more
  uint32_t slot = 0;         // in the memo; used by the Machine
};
static_assert(sizeof(Value) == 16);

// Converts texts and containers. Each function may throw Malformed with offset 0, which becomes the end of the
// container.
class Maker {
 public:
  virtual ~Maker() = default;
  // The view is valid during the call.
  virtual uint64_t text(std::string_view text) = 0;
  // `before`: an empty_list, or the result of this function for the previous items; writers add a thousand at a time.
  virtual Value list(const Value& before, std::span<const Value> items) = 0;
  // The same for a dictionary: alternating keys and values, always an even number.
  virtual Value dict(const Value& before, std::span<const Value> pairs) = 0;
  virtual Value tuple(std::span<const Value> items) = 0;
};

// The value of the whole pickle. Calls `progress` with the number of bytes read. Throws Malformed. `window` is at the
// begin of the file that `memo` describes.
Value read(Window& window, const MemoUse& memo, Maker& maker, const std::function<void(uint64_t)>& progress);

}  // namespace tapelens::pickle
