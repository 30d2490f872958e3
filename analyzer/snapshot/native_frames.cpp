#include "analyzer/snapshot/native_frames.h"

#include <algorithm>
#include <array>
#include <span>

#include "analyzer/model/text.h"

namespace tapelens::snapshot {

namespace {

bool ends_with_any(std::string_view text, std::span<const std::string_view> ends) {
  return std::ranges::any_of(ends, [&](std::string_view end) { return text.ends_with(end); });
}

}  // namespace

bool has_line(std::string_view file) {
  static constexpr std::array<std::string_view, 9> kSources = {".cpp", ".cc",  ".cxx", ".c",  ".cu",
                                                               ".h",   ".hpp", ".cuh", ".pyx"};
  return model::is_python_frame(file) || ends_with_any(file, kSources);
}

bool is_native_library_frame(std::string_view file, std::string_view function) {
  // The interpreter, whether it is a library or not.
  const bool is_python =
      file.find("/bin/python") != std::string_view::npos || function.starts_with("Py") || function.starts_with("_Py");
  return is_python || function == "_start" || model::is_library_frame(file, function);
}

}  // namespace tapelens::snapshot
