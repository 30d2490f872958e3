// What the processes of a run tell of their rewrites.
#include "cli/tally.h"

#include "tests/fuzz/files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tapelens;
  static const fuzz::Folder folder;
  folder.put("1", {reinterpret_cast<const char*>(data), size});
  return cli::describe(cli::read_tally(folder.path())).empty() ? -1 : 0;
}
