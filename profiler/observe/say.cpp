#include <string>

#include "profiler/observe/observe.h"

namespace tapelens::observe {

void say(std::string_view what) {
  const std::string line = "tapelens: " + std::string(what) + "\n";
  g_inject->complain(line.data(), line.size());
}

void explain(const char* folder_variable, const std::string& why) { g_inject->explain(folder_variable, why.c_str()); }

}  // namespace tapelens::observe
