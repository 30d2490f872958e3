// Memory outside of PyTorch's allocator, for the text and the Markdown.
#pragma once

#include <string>
#include <vector>

#include "analyzer/report/report.h"

namespace tapelens::report {

// "libnccl.so.2" of a path; of an empty one that it is not known.
std::string library_name(const std::string& path);
// What was in use adds up to, what is not known, and since when: sentences.
// Where a library first asked: "first in aten::addmm at train.py:42 forward, module net.fc".
std::string place_text(const peak::OutsidePlace& place);
std::vector<std::string> outside_sentences(const Report& report);

}  // namespace tapelens::report
