// Finds the library that called CUDA, from within that call.
#pragma once

#include <string_view>

namespace tapelens::cupti {

// Called once without locks: checks whether a lookup without a lock is possible.
void prepare_caller();
// In a CUPTI callback: the path of the innermost library on this thread's stack outside of CUDA's own. Empty if not
// known. Before glibc 2.35 an address lookup needs the dynamic loader's lock, whose holder may wait for a lock of the
// program that this thread holds. Some CUDA libraries cannot be unwound. The loader owns the text while the library is
// loaded.
std::string_view calling_library();

}  // namespace tapelens::cupti
