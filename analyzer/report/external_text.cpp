#include <algorithm>

#include "analyzer/report/sentences.h"
#include "analyzer/text/format.h"

namespace tapelens::report {

using text::bytes_text;
using text::time_text;

std::string library_name(const std::string& path) {
  return path.empty() ? "a library that is not known" : path.substr(path.rfind('/') + 1);
}

std::string place_text(const peak::FirstRequest& place) {
  return "first in " + place.op + (place.source.empty() ? "" : " at " + place.source) +
         (place.module.empty() ? "" : ", module " + place.module);
}

std::vector<std::string> external_sentences(const Report& report) {
  std::vector<std::string> all;
  for (const ProcessFacts& process : report.processes) {
    if (process.pid == report.peak.pid && !process.cupti.empty() && process.cupti != "on") {
      all.push_back("--cupti recorded nothing: " + process.cupti + ".");
    }
  }
  const auto& external = report.peak.external_memory;
  if (!external) return all;
  if (external->libraries.empty()) all.emplace_back("No library took memory of the device itself.");
  if (external->pools) {
    all.push_back("The driver's pools (cudaMallocAsync) had " + bytes_text(external->pools->reserved) + " then, " +
                  bytes_text(external->pools->unused) + " of it unused; at most " +
                  bytes_text(external->pools->unused_peak) + " was unused.");
  }
  if (const auto& use = external->use) {
    const int64_t rest = use->rest().value;
    std::string text = "The most that was in use of " + report.peak.device + ", by all processes, was " +
                       bytes_text(use->used) + " of " + bytes_text(use->total) + ", " + time_text(use->time) +
                       " after the start: " + bytes_text(use->reserved) + " reserved by PyTorch, " +
                       bytes_text(use->external) + " outside of it" +
                       (use->unused.value > 0 ? ", " + bytes_text(use->unused) + " unused in the driver's pools" : "");
    if (rest >= 0) {
      text += ", and " + bytes_text(Bytes{rest}) + " not accounted for" +
              (rest > 0 ? ": CUDA's context, the driver, other processes, and earlier allocations" : "");
    } else {
      text += ", which is " + bytes_text(Bytes{-rest}) + " more than the driver counted at that moment";
    }
    all.push_back(text + ".");
  } else {
    all.emplace_back("The memory in use on the device is not known, because NVML was not available.");
  }
  if (external->until) {
    all.push_back("From " + time_text(*external->until) +
                  " after the start on nothing is known: another tool of the program took CUPTI.");
  }
  return all;
}

}  // namespace tapelens::report
