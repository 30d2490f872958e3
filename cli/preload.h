// The preload library as the loader is told of it. Used by every command that runs a program: record, run, verify.
#pragma once

#include <string>

#include "cli/child.h"

namespace tapelens::cli {

// What makes the loader preload these libraries, separated by colons, behind whatever is preloaded already.
Environment preloading(const std::string& libraries);

// The loader splits LD_PRELOAD at spaces and colons and expands `$`: a path with one of those is reached through a
// link to its folder, which is there as long as this object.
class PreloadPath {
 public:
  PreloadPath();
  ~PreloadPath();
  PreloadPath(const PreloadPath&) = delete;
  PreloadPath& operator=(const PreloadPath&) = delete;

  // Why nothing can be preloaded, for the user; empty if it can.
  const std::string& reason() const { return reason_; }
  // As the loader takes it.
  const std::string& path() const { return path_; }
  // What makes the loader preload it, and it find the probes that `tapelens build-probe` made. Behind whatever is
  // preloaded already. The runtime of AddressSanitizer ends a program in which it is not the first library; where the
  // program itself is linked with it, it is told not to look. `more`: further libraries, separated by colons.
  Environment environment(const std::string& more = {}) const;

 private:
  std::string folder_, link_, path_, reason_;
};

}  // namespace tapelens::cli
