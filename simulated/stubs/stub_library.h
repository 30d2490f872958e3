// A shared library that consists only of symbols: each function returns 0 and counts its calls. It replaces a CUDA
// library in a process without a GPU.
#pragma once

#include <string>
#include <vector>

#include "simulated/stubs/exports.h"

namespace tapelens::stubs {

struct StubLibrary {
  std::string soname;
  std::vector<std::string> needed;  // DT_NEEDED: libraries with the symbols outside of `functions`
  std::vector<Function> functions;  // without duplicates of name and version
};

// The data symbol of each stub library: one uint32_t per function, in order, with its number of calls. (Concurrent
// calls may lose a count.)
inline constexpr const char* kStubCalls = "tapelens_stub_calls";

// Whether this processor can run stub libraries.
#if defined(__x86_64__)
inline constexpr bool kRunHere = true;
#else
inline constexpr bool kRunHere = false;
#endif

// The bytes of an ELF library for x86-64, for the loader and the linker. Each function is 16 bytes of code:
//   endbr64; incl tapelens_stub_calls[i](%rip); xor %eax, %eax; ret
std::string stub_library(const StubLibrary& library);

}  // namespace tapelens::stubs
