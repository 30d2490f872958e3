// Settings, tapelens.toml: reading terminates without a stack overflow.
#include "cli/gate_settings.h"
#include "tests/fuzz/files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tapelens;
  const fuzz::MemoryFile file({reinterpret_cast<const char*>(data), size});
  const auto settings = cli::read_settings(file.path());
  if (!settings) fuzz::must(!settings.error().message.empty());
  return 0;
}
