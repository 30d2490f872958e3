// Where the parts of this installation are: found from the running binary, so that the tree can be moved.
#pragma once

#include <string>
#include <vector>

namespace tapelens::cli {

// The folder of libtapelens_inject.so and the probes, absolute; empty if there is none.
std::string library_folder();

// The minors whose probes are installed, "2.11", "2.15", oldest first.
std::vector<std::string> probe_minors(const std::string& folder);

// The sources of a probe that records, absolute; empty if this installation has none.
std::string probe_source_folder();
// Where `tapelens build-probe` puts the probes that it makes of them, whether it is there or not; empty if there are no
// sources, or no home.
std::string built_probe_folder();

inline constexpr const char* kInjectName = "libtapelens_inject.so";

}  // namespace tapelens::cli
