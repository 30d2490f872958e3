// A JSON document within a number of bytes, for readers that pay for each one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "analyzer/text/json.h"

namespace tapelens::text {

// The document without white space and with its longest lists cut at their ends, in at most `bytes` bytes. Every list
// keeps its first element, and lists of equal length in bytes are cut alike, so that short ones stay whole. The key
// `left_out` is added: [{"list": "/peak/allocations/*/stack", "count": 12}], empty if all fits. `*` stands for every
// element of a list. None: the document needs more bytes with one element in each list. Takes time proportional to
// `bytes`, times its logarithm, and to the number of lists that stay.
std::optional<std::string> shortened(const Json& document, size_t bytes);
// The fewest bytes for which shortened() has a result.
size_t shortest(const Json& document);

}  // namespace tapelens::text
