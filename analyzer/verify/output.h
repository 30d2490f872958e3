// Compares the standard output of two runs line by line; used for programs that compute no gradients.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/verify/verdict.h"

namespace tapelens::verify {

// Takes paths of files with the output; a missing file counts as empty.
uint64_t count_lines(const std::string& path);
// The first line that differs; none if the files are equal byte for byte.
std::optional<Difference> compare_output(const std::string& bare, const std::string& other);

}  // namespace tapelens::verify
