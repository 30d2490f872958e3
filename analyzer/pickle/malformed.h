// A pickle that is not what it should be. Thrown within analyzer/pickle and by who makes things of its values; whoever
// starts a reading catches it and makes an Error of it.
#pragma once

#include <cstdint>
#include <string>

namespace tapelens::pickle {

struct Malformed {
  uint64_t offset = 0;  // in the file
  std::string what;     // "cut off within a text"
};

}  // namespace tapelens::pickle
