// Which library called CUDA, asked within that call.
#pragma once

#include <string_view>

namespace tapelens::cupti {

// Once, where no lock is held: finds out whether it can be asked without one.
void prepare_caller();
// The path of the innermost library on this thread's stack that is none of CUDA's own, in a callback of CUPTI's. Empty
// where it is not known: before glibc 2.35 no address can be looked up without the dynamic loader's lock, whose holder
// may wait for a lock of the program's that this thread has; and where one of CUDA's libraries cannot be unwound.
// The text is the loader's, which keeps it while the library is there.
std::string_view calling_library();

}  // namespace tapelens::cupti
