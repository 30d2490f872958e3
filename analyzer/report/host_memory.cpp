// See detail.h and sentences.h.
#include <algorithm>
#include <charconv>

#include "analyzer/model/device_traits.h"
#include "analyzer/report/detail.h"
#include "analyzer/report/sentences.h"
#include "analyzer/text/format.h"

namespace tapelens::report {

using text::bytes_text;

namespace {

// A recording of any origin: numbers that do not fit are unknown.
Bytes bytes_of(std::string_view text) {
  int64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  constexpr int64_t kMost = int64_t{1} << 60;
  return Bytes{error == std::errc() && bytes >= 0 && bytes < kMost ? bytes : 0};
}

bool is_much(Bytes difference, Bytes of) {
  constexpr int64_t kLeast = int64_t{1} << 30, kPart = 4;
  return difference.value > std::max(kLeast, of.value / kPart);
}

}  // namespace

std::optional<HostMemory> describe_host_memory(const peak::Analysis& analysis) {
  HostMemory host;
  host.before = bytes_of(analysis.information("host_resident_bytes"));
  host.before_peak = bytes_of(analysis.information("host_peak_before_bytes"));
  if (host.before == Bytes{}) return std::nullopt;
  host.peak = host.before_peak;
  host.is_final = !analysis.information("host_peak_is_final").empty();
  for (const std::string_view peak : analysis.all_information("host_peak_bytes")) {
    host.peak = std::max(host.peak, bytes_of(peak));
  }
  for (const peak::DevicePeak& device : analysis.devices()) {
    if (analysis.traits(device.device).type->is_pageable) host.recorded = device.peak;
  }
  return host;
}

std::string host_memory_text(const HostMemory& host) {
  const Bytes grown = host.peak - host.before;
  if (host.recorded > grown) {
    if (!host.is_final || !is_much(host.recorded - grown, host.recorded)) return "";
    return "The process's memory (RSS) grew by " + bytes_text(grown) + " since its first operator, " +
           bytes_text(host.recorded - grown) + " less than the recorded CPU tensors have at their peak: pages that " +
           "nothing has written take no memory, and swapped pages are not in it.";
  }
  if (!is_much(grown - host.recorded, host.recorded)) return "";
  if (host.peak <= host.before_peak) {
    if (!host.is_final) return "";
    return "The process's memory (RSS) had its peak of " + bytes_text(host.peak) +
           " before its first operator, when it was not recorded: libraries, Python objects, data that the program "
           "loaded and released.";
  }
  return "The process's memory (RSS) grew by " + bytes_text(grown) + " since its first operator, " +
         bytes_text(grown - host.recorded) +
         " more than the recorded CPU tensors have at their peak. Possible causes: libraries, arrays of other "
         "packages, "
         "scratch memory of oneDNN and MKL, caches of the C library's allocator, the recording itself.";
}

std::string host_memory_text(const Report& report) {
  if (!model::device_type(report.peak.device).is_pageable) return "";
  const auto process = std::ranges::find(report.processes, report.peak.pid, &ProcessFacts::pid);
  return process != report.processes.end() && process->host ? host_memory_text(*process->host) : "";
}

}  // namespace tapelens::report
