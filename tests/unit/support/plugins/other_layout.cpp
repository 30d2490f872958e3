// The same interface, compiled so that what is handed over is laid out in another way.
#include "plugins/check.h"

using tapelens::advise::Plugin;

extern "C" __attribute__((visibility("default"))) const Plugin* tapelens_plugin() {
  static const Plugin plugin{tapelens::advise::kCheckInterface, 1, tapelens::advise::interface_layout() + 1, nullptr};
  return &plugin;
}
