// Stacks that have Python's and C++'s frames (stacks="all").
#pragma once

#include <string_view>

namespace tapelens::snapshot {

// Whether the line of a frame is one of a source: of a library it is an address in it.
bool has_line(std::string_view file);
// In C++: of PyTorch, the interpreter and what they are written with.
bool is_native_library_frame(std::string_view file, std::string_view function);

}  // namespace tapelens::snapshot
