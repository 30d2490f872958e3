// The resident memory of a process (RSS), compared with the CPU memory that the recording has.
#pragma once

#include <optional>
#include <string>

#include "analyzer/peak/analysis.h"
#include "analyzer/report/report.h"

namespace tapelens::report {

// None: the recording does not have it.
std::optional<HostMemory> describe_host_memory(const peak::Analysis& analysis);

// One sentence if the two differ by more than 25 % and 1 GiB, with possible causes; otherwise empty.
std::string host_memory_text(const HostMemory& host);
// The same for the process of the report's peak, if that is on the CPU.
std::string host_memory_text(const Report& report);

}  // namespace tapelens::report
