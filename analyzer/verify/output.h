// What two runs wrote to standard output, line by line: of programs that compute no gradients.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/verify/verdict.h"

namespace tapelens::verify {

// Of files that hold it; one that is not there is empty.
uint64_t count_lines(const std::string& path);
// The first line that differs; none: they are the same, byte for byte.
std::optional<Difference> compare_output(const std::string& bare, const std::string& other);

}  // namespace tapelens::verify
