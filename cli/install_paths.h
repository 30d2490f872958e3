// Where the parts of this installation are: found from the running binary, so that the tree can be moved.
#pragma once

#include <string>
#include <vector>

namespace tapelens::cli {

// The folder of libtapelens_inject.so and the probes, absolute; empty if there is none.
std::string library_folder();

// The minors whose probes are installed, "2.11", "2.15", oldest first.
std::vector<std::string> probe_minors(const std::string& folder);

inline constexpr const char* kInjectName = "libtapelens_inject.so";

}  // namespace tapelens::cli
