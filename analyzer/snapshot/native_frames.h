// Stacks that have Python's and C++'s frames (stacks="all").
#pragma once

#include <string_view>

namespace tapelens::snapshot {

// Whether a frame's line is a source line. For a library file it is an address in the library.
bool has_line(std::string_view file);
// Whether a C++ frame belongs to PyTorch, the interpreter or a library that they use.
bool is_native_library_frame(std::string_view file, std::string_view function);

}  // namespace tapelens::snapshot
