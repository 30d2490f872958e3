// An invalid pickle. Thrown within analyzer/pickle and by makers; the caller of read() catches it and returns an Error.
#pragma once

#include <cstdint>
#include <string>

namespace tapelens::pickle {

struct Malformed {
  uint64_t offset = 0;  // in the file
  std::string what;     // "cut off within a text"
};

}  // namespace tapelens::pickle
