// Memory outside of PyTorch's allocator, for the text and the Markdown.
#pragma once

#include <string>
#include <vector>

#include "analyzer/report/report.h"

namespace tapelens::report {

// "libnccl.so.2" from its path. An empty path gives a text that says that the library is unknown.
std::string library_name(const std::string& path);
// The place of a library's first request: "first in aten::addmm at train.py:42 forward, module net.fc".
std::string place_text(const peak::OutsidePlace& place);
// Sentences on the parts of the bytes in use, the unknown remainder, and the begin of the recording.
std::vector<std::string> outside_sentences(const Report& report);

}  // namespace tapelens::report
