// Summaries in recordings, as `tapelens ranks` reads them: an accepted summary survives a round trip and can be
// compared with others.
#include "analyzer/ranks/summary.h"

#include "analyzer/ranks/renderings.h"
#include "tests/fuzz/files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tapelens;
  const auto summary = ranks::read_summary({reinterpret_cast<const char*>(data), size});
  if (!summary) {
    fuzz::must(!summary.error().message.empty());
    return 0;
  }
  if (const std::string written = ranks::summary_json(*summary); !written.empty()) {
    const auto again = ranks::read_summary(written);
    fuzz::must(again && ranks::summary_json(*again) == written);
  }
  std::vector<ranks::RankFile> sources;
  for (int i = 0; i < 6; ++i) {
    sources.push_back({.file = "f" + std::to_string(i), .summary = *summary, .why = {}});
    for (ranks::RankSummary& process : sources.back().summary->processes) process.rank = i % 5;
  }
  const auto job = ranks::merge(std::move(sources), {}, summary->tapelens);
  if (!job) return 0;
  for (const ranks::Format& format : ranks::kFormats) fuzz::must(!format.render(*job, {}).empty());
  return 0;
}
