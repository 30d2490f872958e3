// Counts of rewrites from the processes of a run. The input is the begin of the file; the missing rest is zero.
#include "cli/tally.h"

#include <algorithm>

#include "policy/tally_file.h"
#include "tests/fuzz/files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tapelens;
  static const fuzz::Folder folder;
  std::string file(sizeof(policy::TallyFile), '\0');
  std::copy_n(data, std::min(size, file.size()), file.begin());
  folder.put("1", file);
  fuzz::must(!cli::describe(cli::read_tally(folder.path())).empty());
  return 0;
}
