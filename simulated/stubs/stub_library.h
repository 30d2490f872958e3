// A shared library made of nothing but names: each function answers 0, and counts that it was called. It takes the
// place of a library of CUDA in a process that has no GPU.
#pragma once

#include <string>
#include <vector>

#include "simulated/stubs/exports.h"

namespace tapelens::stubs {

struct StubLibrary {
  std::string soname;
  std::vector<std::string> needed;  // DT_NEEDED: where the loader looks for what is not in `functions`
  std::vector<Function> functions;  // no name twice under one version
};

// The data of each stub library: one uint32_t for each of `functions`, in their order; how often it was called.
// (Threads that call at once may lose a count.)
inline constexpr const char* kStubCalls = "tapelens_stub_calls";

// Whether this processor can run them.
#if defined(__x86_64__)
inline constexpr bool kRunHere = true;
#else
inline constexpr bool kRunHere = false;
#endif

// The bytes of an ELF library for x86-64: the loader and the linker take it. Each function is 16 bytes of code:
//   endbr64; incl tapelens_stub_calls[i](%rip); xor %eax, %eax; ret
std::string stub_library(const StubLibrary& library);

}  // namespace tapelens::stubs
