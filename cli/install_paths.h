// The paths of this installation, relative to the running binary, so that the tree can be moved.
#pragma once

#include <string>
#include <vector>

namespace tapelens::cli {

// The folder of libtapelens_inject.so and the probes, absolute; empty if it does not exist.
std::string library_folder();

// The minor versions with an installed probe, "2.11", "2.15", oldest first.
std::vector<std::string> probe_minors(const std::string& folder);

// The folder of the probe's sources, absolute; empty if this installation has none.
std::string probe_source_folder();
// The folder for the probes that `tapelens build-probe` makes, which may not exist yet. Empty without the sources or
// without a home folder.
std::string built_probe_folder();

inline constexpr const char* kInjectName = "libtapelens_inject.so";

}  // namespace tapelens::cli
