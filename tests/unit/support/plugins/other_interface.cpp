// Built for an interface that this Tapelens does not have. The loader must read only the version.
#include "analyzer/check/check.h"

using tapelens::check::Plugin;

extern "C" __attribute__((visibility("default"))) const Plugin* tapelens_plugin() {
  static const Plugin plugin{tapelens::check::CheckInterface::kVersion + 1, 1, 0, nullptr};
  return &plugin;
}
