// Shared libraries: the reader refuses the exports of a damaged library, or they survive a round trip through a stub
// library.
#include "simulated/stubs/exports.h"

#include <algorithm>

#include "simulated/stubs/stub_library.h"
#include "tests/fuzz/files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tapelens;
  const fuzz::MemoryFile file({reinterpret_cast<const char*>(data), size});
  const auto exports = stubs::read_exports(file.path());
  if (!exports) {
    fuzz::must(!exports.error().message.empty());
    return 0;
  }
  const fuzz::MemoryFile stub(stubs::stub_library({exports->soname, exports->needed, exports->functions}));
  const auto again = stubs::read_exports(stub.path());
  fuzz::must(static_cast<bool>(again));
  fuzz::must(again->functions.size() == exports->functions.size() && again->needed == exports->needed);
  for (const stubs::Function& function : exports->functions) {
    fuzz::must(std::ranges::find(again->functions, function) != again->functions.end());
  }
  return 0;
}
