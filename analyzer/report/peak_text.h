// Texts about the report's moment. Every format for people uses them.
#pragma once

#include <string>

#include "analyzer/report/report.h"

namespace tapelens::report {

std::string title_text(const Report& report);  // "Peak 174.0 MiB on cpu of rank 1"
std::string when_text(const Report& report);   // "1.2 s after the start, in the backward of step 3, at train.py:42
                                               // forward; 120 allocations ..."
std::string run_text(const Report& report);    // "python train.py, PyTorch 2.15.0, 4.8 s, 12,004 events"
// The memory that PyTorch's allocator had reserved on the device.
std::string reserved_text(const Reserved& reserved);
// Empty: memory at the begin of steps does not grow.
std::string growth_text(const Report& report);
// If the recording does not have the variables that hold the other live tensors: how to find them.
std::string variables_text(const Report& report);
// The main holder and the other holders. The memory stays if only the main holder releases it.
std::string holders_text(const Allocation& allocation);
// When it was made: "step 3", "before step 39997".
std::string since_text(const Report& report, uint32_t step);

}  // namespace tapelens::report
