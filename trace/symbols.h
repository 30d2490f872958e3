// Symbolizes the program counters of a process, which may have ended. elfutils reads files and lines from DWARF, and
// functions from symbol tables. Used by the sealer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tapelens::trace {

struct SymbolMapping {
  std::string path;
  uint64_t begin = 0, end = 0;
  uint64_t bias = 0;  // address minus address in the file
};

struct SymbolFrame {
  std::string file, function;
  uint32_t line = 0;  // 0: unknown
};

class Symbols {
 public:
  explicit Symbols(std::vector<SymbolMapping> mappings);
  ~Symbols();

  // Converts a stack of return addresses, innermost first, to frames that a reader of the program knows. Frames of
  // LibTorch, the C and C++ libraries, the loader and Tapelens are left out; if no other frame remains, the innermost
  // one is kept. Inlined functions are separate frames.
  std::vector<SymbolFrame> stack(std::span<const uint64_t> return_addresses);

 private:
  struct Files;
  const std::vector<SymbolFrame>& frames_at(uint64_t return_address);
  const SymbolMapping* mapping_of(uint64_t address) const;
  std::vector<SymbolMapping> mappings_;  // by begin
  std::unique_ptr<Files> files_;
};

// Whether the file is a runtime library, whose frames do not help the reader of a training program.
bool is_runtime_library(const std::string& path);

}  // namespace tapelens::trace
