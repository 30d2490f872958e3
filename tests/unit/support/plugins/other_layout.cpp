// The same interface, compiled so that what is handed over is laid out in another way.
#include "analyzer/check/check.h"

using tapelens::check::Plugin;

extern "C" __attribute__((visibility("default"))) const Plugin* tapelens_plugin() {
  static const Plugin plugin{tapelens::check::CheckInterface::kVersion, 1,
                             tapelens::check::CheckInterface::kBuiltFor + 1, nullptr};
  return &plugin;
}
