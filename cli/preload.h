// The preload library for the loader, and the paths of this installation. Used by every command that runs a program.
#pragma once

#include <string>
#include <vector>

#include "cli/child.h"

namespace tapelens::cli {

// The environment that preloads these libraries (separated by colons) after those that are already preloaded.
Environment preloading(const std::string& libraries);

// The loader splits LD_PRELOAD at spaces and colons and expands `$`. A path with one of those is reached through a link
// to its folder, which exists as long as this object.
class PreloadPath {
 public:
  PreloadPath();
  ~PreloadPath();
  PreloadPath(const PreloadPath&) = delete;
  PreloadPath& operator=(const PreloadPath&) = delete;

  // Why preloading is impossible, for the user; empty if it is possible.
  const std::string& reason() const { return reason_; }
  // The path for the loader.
  const std::string& path() const { return path_; }
  // The environment that preloads the library, after those that are already preloaded, and that points to the probes of
  // `tapelens build-probe`. AddressSanitizer ends a program if its runtime is not the first library. If the program is
  // linked with that runtime, the environment turns this check off. `more`: further libraries, separated by colons.
  Environment environment(const std::string& more = {}) const;

 private:
  std::string folder_, link_, path_, reason_;
};

// ---- the paths of this installation, relative to the running binary, so that the tree can be moved

// The folder of libtapelens_inject.so and the probes, absolute; empty if it does not exist.
std::string library_folder();

// The minor versions with an installed probe, "2.11", "2.15", oldest first.
std::vector<std::string> probe_minors(const std::string& folder);

// The folder of the probe's sources, absolute; empty if this installation has none.
std::string probe_source_folder();
// The user's folder for files that can be made again, which may not exist yet: $XDG_CACHE_HOME/tapelens, or
// ~/.cache/tapelens. Empty without a home folder.
std::string cache_folder();
// The folder for the probes that `tapelens build-probe` makes, which may not exist yet. Empty without the sources or
// without a home folder.
std::string built_probe_folder();

inline constexpr const char* kInjectName = "libtapelens_inject.so";

}  // namespace tapelens::cli
