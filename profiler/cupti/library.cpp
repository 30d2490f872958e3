#include "profiler/cupti/library.h"

#include <dlfcn.h>

#include <type_traits>

namespace tapelens::cupti {

std::optional<Functions> find_functions() {
  for (const char* name : {"libtorch_cpu.so", "libcupti.so.13", "libcupti.so.12"}) {
    // dlsym searches a library and its dependencies.
    void* handle = dlopen(name, RTLD_NOLOAD | RTLD_LAZY);
    if (handle == nullptr) continue;
    Functions found;
    bool has_all = true;
    each_function(found, [&](const char* symbol, auto& function, bool is_optional) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, symbol));
      has_all &= function != nullptr || is_optional;
    });
    dlclose(handle);  // the program keeps it
    if (has_all) return found;
  }
  return {};
}

}  // namespace tapelens::cupti
