// What a shared library exports: read from its file, which is neither loaded nor trusted. Used where stand-ins for
// CUDA's libraries are written at the start of a run.
#pragma once

#include <string>
#include <vector>

#include "trace/result.h"

namespace tapelens::stubs {

struct Function {
  std::string name;
  std::string version;  // its version node ("libcudart.so.13"); empty: none
  bool hidden = false;  // found only by who asks for this version

  bool operator==(const Function&) const = default;
};

struct Exports {
  std::string soname;                  // empty: the library has none
  std::vector<std::string> needed;     // DT_NEEDED, in the order of the file
  std::vector<Function> functions;     // defined, global or weak; in the order of the file
  std::vector<std::string> undefined;  // functions and data that it wants of others
};

// Of a 64-bit little-endian shared library for x86-64, as the loader finds it: by its dynamic segment, not by sections.
// A file that is none, or that names places outside of itself, is an error: "libcudart.so.13: what is wrong".
trace::Result<Exports> read_exports(const std::string& path);

}  // namespace tapelens::stubs
