// Sentences of a report: its moment, other memory, missing data. Every format for people uses them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analyzer/report/report.h"

namespace tapelens::report {

std::string title_text(const Report& report);  // "Peak 174.0 MiB on cpu of rank 1"
std::string when_text(const Report& report);   // "1.2 s after the start, in the backward of step 3, at train.py:42
                                               // forward; 120 allocations ..."
std::string run_text(const Report& report);    // "python train.py, PyTorch 2.15.0, 4.8 s, 12,004 events"
// The last request that found no memory, if there is one. A title, a sentence, and commands with their purposes.
std::string failure_title(const Failure& failure);  // "Out of memory, 3 times; the last one"
std::string failure_text(
    const Failure& failure);  // "13.468 s after the start, cuda:0 had no 32.0 MiB for aten::bmm ..."
// Without the command of the moment that the report describes already.
std::vector<std::pair<std::string, std::string>> failure_commands(const Report& report);
// The memory that PyTorch's allocator had reserved on the device.
std::string reserved_text(const Reserved& reserved);
// The reserved and the unused bytes alone.
std::string reserved_short(const Reserved& reserved);
// Empty: memory at the begin of steps does not grow.
std::string growth_text(const Report& report);
// If the recording does not have the variables that hold the other live tensors: how to find them.
std::string variables_text(const Report& report);
// The main holder and the other holders. The memory stays if only the main holder releases it.
std::string holders_text(const Allocation& allocation);
// When it was made: "step 3", "before step 39997".
std::string since_text(const Report& report, uint32_t step);

// ---- memory that PyTorch's allocators do not manage

// "libnccl.so.2" from its path. An empty path gives a text that says that the library is unknown.
std::string library_name(const std::string& path);
// The place of a library's first request: "first in aten::addmm at train.py:42 forward, module net.fc".
std::string place_text(const peak::FirstRequest& place);
// Sentences on the parts of the bytes in use, the unknown remainder, and the begin of the recording.
std::vector<std::string> external_sentences(const Report& report);

// Compares the resident memory of a process (RSS) with the CPU memory of the recording. One sentence if the two differ
// by more than 25 % and 1 GiB, with possible causes; otherwise empty.
std::string host_memory_text(const HostMemory& host);
// The same for the process of the report's peak, if that is on the CPU.
std::string host_memory_text(const Report& report);

// The process with the most communicators: one sentence. A second sentence follows if a GPU has too little memory for
// the recorded bytes and the estimate together. Empty: no estimate.
std::string estimates_text(const Report& report);
// Whether that second sentence follows.
bool is_too_large(const Report& report);

// ---- the data that a recording lacks, and how to record it
// These texts are one or two sentences for the first lines of a report. They are empty if they do not apply.

// One line about a simulated or imported run; with Options::is_verbose all of the sentences below.
std::vector<std::string> condition_texts(const Report& report);
// A run on simulated GPUs.
std::string simulated_text(const RecordingFacts& facts);
// Checks that do not run on an imported recording.
std::string not_looked_text(const advise::Advice& advice);
// The values that the simulated GPU did not compute, and that the program read.
std::string value_reads_text(const Report& report);
// Data that an imported recording does not have.
std::string imported_text(const RecordingFacts& facts);
// A CUDA allocator that does not report its allocations.
std::string hidden_text(const std::vector<ProcessFacts>& processes);

}  // namespace tapelens::report
