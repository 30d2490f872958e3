// The path of the preload library for the loader. Used by every command that runs a program: record, run, verify.
#pragma once

#include <string>

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

}  // namespace tapelens::cli
