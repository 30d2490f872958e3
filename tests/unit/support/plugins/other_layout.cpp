// The same interface, compiled with another layout of its structures.
#include "analyzer/check/check.h"

using tapelens::check::Plugin;

extern "C" __attribute__((visibility("default"))) const Plugin* tapelens_plugin() {
  static const Plugin plugin{tapelens::check::CheckInterface::kVersion, 1,
                             tapelens::check::CheckInterface::kBuiltFor + 1, nullptr};
  return &plugin;
}
