// Reads the exports of a shared library from its file with libelf, without loading or trusting it. Used to write
// stand-ins for CUDA's libraries at the start of a run.
#pragma once

#include <string>
#include <vector>

#include "trace/result.h"

namespace tapelens::stubs {

struct Function {
  std::string name;
  std::string version;  // its version node ("libcudart.so.13"); empty: unversioned
  bool hidden = false;  // found only by requests for this version

  bool operator==(const Function&) const = default;
};

struct Exports {
  std::string soname;                  // empty: the library has no soname
  std::vector<std::string> needed;     // DT_NEEDED, in the order of the file
  std::vector<Function> functions;     // defined, global or weak; in the order of the file
  std::vector<std::string> undefined;  // functions and data that it needs from other libraries
};

// Reads the dynamic sections of a 64-bit little-endian shared library for x86-64. Any other file, a library without
// sections, or an offset outside of the file, is an error: "libcudart.so.13: REASON".
trace::Result<Exports> read_exports(const std::string& path);

}  // namespace tapelens::stubs
