#include "profiler/cupti/caller.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>
#include <unwind.h>

#include <array>
#include <string>

namespace tapelens::cupti {
namespace {

// struct dl_find_object of <dlfcn.h>, which headers before glibc 2.35 do not have.
struct FoundObject {
  unsigned long long flags;
  void *begin, *end;
  link_map* library;
  void* unwind_table;
  unsigned long long reserved[7];
};
using FindObject = int (*)(void*, FoundObject*);

FindObject g_find_object = nullptr;
std::string* g_program = nullptr;  // the path of the program, for which the loader has no name

std::string_view library_at(uintptr_t counter) {
  FoundObject found{};
  if (g_find_object(reinterpret_cast<void*>(counter), &found) != 0 || found.library == nullptr) return {};
  const char* name = found.library->l_name;
  return name == nullptr || *name == '\0' ? std::string_view(*g_program) : std::string_view(name);
}

bool is_of_cuda(std::string_view path) {
  constexpr std::array kNames = {"libcuda.so",  "libcudart.so",       "libcudart-",
                                 "libcupti.so", "libcudadebugger.so", "libtapelens_gpu.so"};
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (const std::string_view one : kNames) {
    if (name.starts_with(one)) return true;
  }
  return false;
}

}  // namespace

void prepare_caller() {
  if (g_program == nullptr) {
    char path[4096];
    const ssize_t bytes = readlink("/proc/self/exe", path, sizeof(path));
    g_program = new std::string(path, bytes > 0 ? static_cast<size_t>(bytes) : 0);
  }
  g_find_object = reinterpret_cast<FindObject>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
}

std::string_view calling_library() {
  if (g_find_object == nullptr) return {};
  struct Walk {
    bool is_below_us = false;  // in or past CUDA's own libraries
    std::string_view found;
    int frames = 0;
  } walk;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* data) {
        auto& at = *static_cast<Walk*>(data);
        constexpr int kMostFrames = 64;
        const uintptr_t counter = _Unwind_GetIP(context);
        if (++at.frames > kMostFrames || counter == 0) return _URC_END_OF_STACK;
        const std::string_view library = library_at(counter - 1);
        if (library.empty()) return _URC_END_OF_STACK;
        const bool is_cuda = is_of_cuda(library);
        at.is_below_us |= is_cuda;
        if (is_cuda || !at.is_below_us) return _URC_NO_REASON;
        at.found = library;
        return _URC_END_OF_STACK;
      },
      &walk);
  return walk.found;
}

}  // namespace tapelens::cupti
