// Results of `tapelens verify --format json`, as the window reads them: whatever is read can be said.
#include "gui/models/verify_result.h"
#include "tests/fuzz/files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tapelens;
  const fuzz::MemoryFile file({reinterpret_cast<const char*>(data), size});
  const auto [result, problem] = gui::read_verify_result(QString::fromStdString(file.path()));
  if (!result) {
    fuzz::must(!problem.isEmpty());
    return 0;
  }
  fuzz::must(!gui::verdict_title(*result).isEmpty() && !gui::verdict_text(*result).isEmpty() &&
             !gui::verdict_effect(*result).isEmpty());
  return 0;
}
