// Results of `tapelens verify --format json`, as the window reads them: an accepted result gives sentences and survives
// a round trip.
#include "analyzer/verify/verdict.h"
#include "analyzer/verify/verdict_text.h"
#include "tests/fuzz/files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tapelens;
  const auto verdict = verify::read_verdict({reinterpret_cast<const char*>(data), size}, "v.json");
  if (!verdict) {
    fuzz::must(!verdict.error().message.empty());
    return 0;
  }
  fuzz::must(!verify::verdict_text(*verdict, {}).empty());
  const std::string written = verify::verdict_json(*verdict);
  const auto again = verify::read_verdict(written, "v.json");
  fuzz::must(again && verify::verdict_json(*again) == written);
  return 0;
}
