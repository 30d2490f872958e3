// Memory snapshots of PyTorch: an imported snapshot is a recording that opens, has only sound tables, and gives a
// report.
#include "analyzer/model/load.h"
#include "analyzer/report/report.h"
#include "analyzer/snapshot/import.h"
#include "tests/fuzz/files.h"
#include "trace/recording.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tapelens;
  static const fuzz::Folder folder;
  const fuzz::MemoryFile file({reinterpret_cast<const char*>(data), size});
  snapshot::ImportOptions options;
  options.input = file.path();
  options.output = folder.path() + "/out.tapelens";
  const auto imported = snapshot::import_snapshot(options);
  if (!imported) {
    fuzz::must(!imported.error().message.empty());
    return 0;
  }
  const auto run = run::Run::open(options.output);
  fuzz::must(bool{run});
  fuzz::must(run->recording().left_out().empty());
  fuzz::must(run->text().left_out.empty());
  fuzz::must(run->process(0)->process().left_out.empty());
  const auto report = report::build(*run, {});
  if (report) fuzz::must(!json(*report).empty());
  return 0;
}
