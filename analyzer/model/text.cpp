#include "analyzer/model/text.h"

#include <algorithm>
#include <array>

namespace tapelens::model {

std::string layout_text(const Text& text, LayoutId layout) {
  std::string out(text.string(text.layout_dtype[layout]));
  out += " [";
  bool first = true;
  for (const uint64_t size : text.sizes(layout)) {
    if (!first) out += ", ";
    out += std::to_string(size);
    first = false;
  }
  return out + "]";
}

namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Windows paths have other separators.
std::string with_slashes(std::string_view file) {
  std::string path(file);
  std::ranges::replace(path, '\\', '/');
  return path;
}

// Whether a path contains a folder such as "/site-packages/torch/", or is relative and begins with it.
bool has_folder(std::string_view file, std::string_view folder) {
  return contains(file, folder) || file.starts_with(folder.substr(1));
}

bool is_installed(std::string_view file) {
  return has_folder(file, "/site-packages/") || has_folder(file, "/dist-packages/");
}

// Matches ".../lib/python3.12/asyncio/base_events.py" and "C:/Python312/Lib/asyncio/base_events.py", but not packages
// installed beside them.
bool is_python_standard_library(std::string_view file, bool is_of_windows) {
  size_t place = file.rfind("/lib/python3");
  if (place == std::string_view::npos && is_of_windows)
    place = std::max(file.rfind("/Lib/") + 1, file.rfind("/lib/") + 1);
  return place != std::string_view::npos && place != 0 && !is_installed(file.substr(place));
}

}  // namespace

bool is_installed_frame(std::string_view file) {
  return contains(file, "\\") ? is_installed(with_slashes(file)) : is_installed(file);
}

bool is_python_frame(std::string_view file) { return file.ends_with(".py") || file.starts_with('<'); }

bool is_library_frame(std::string_view file, std::string_view function) {
  static constexpr std::array<std::string_view, 12> kFiles = {"/site-packages/torch/",
                                                              "/dist-packages/torch/",
                                                              "/include/torch/",
                                                              "/include/ATen/",
                                                              "/include/c10/",
                                                              "libtorch",
                                                              "libc10",
                                                              "libtapelens",
                                                              "libstdc++",
                                                              "libc.so",
                                                              "/include/c++/",
                                                              "libpython"};
  static constexpr std::array<std::string_view, 6> kFunctions = {
      "at::", "c10::", "torch::", "std::", "__libc_start", trace::kInductor};
  // Frozen modules of Python, and code that torch.fx generated.
  if (file.starts_with("<frozen ") || file.starts_with("<eval_with_key>")) return true;
  const bool is_of_windows = contains(file, "\\");
  const std::string path = is_of_windows ? with_slashes(file) : std::string();
  if (is_of_windows) file = path;
  if (std::ranges::any_of(kFiles, [&](std::string_view part) { return has_folder(file, part); })) return true;
  if (is_python_standard_library(file, is_of_windows)) return true;
  return std::ranges::any_of(kFunctions, [&](std::string_view prefix) { return function.starts_with(prefix); });
}

bool is_own_frame(const Text& text, FrameId frame) {
  const std::string_view file = text.string(text.frame_file[frame]);
  return !is_installed_frame(file) && !is_library_frame(file, text.string(text.frame_function[frame]));
}

FrameId own_frame(const Text& text, StackId stack) {
  const auto frames = text.stack(stack);
  const auto own = std::ranges::find_if(frames, [&](FrameId frame) { return is_own_frame(text, frame); });
  return own == frames.end() ? source_frame(text, stack) : *own;
}

namespace {

// For an imported snapshot: its C++ frames belong to PyTorch and the interpreter, under any name.
FrameId imported_source_frame(const Text& text, std::span<const FrameId> frames) {
  const auto is_python = [&](FrameId frame) { return is_python_frame(text.string(text.frame_file[frame])); };
  FrameId first;
  for (const FrameId frame : frames) {
    if (!is_python(frame)) continue;
    if (is_own_frame(text, frame)) return frame;
    if (!first) first = frame;
  }
  return first;
}

}  // namespace

FrameId source_frame(const Text& text, StackId stack) {
  const std::span<const FrameId> frames = text.stack(stack);
  if (const FrameId python = text.is_imported ? imported_source_frame(text, frames) : FrameId{}) return python;
  for (const FrameId frame : frames) {
    if (!is_library_frame(text.string(text.frame_file[frame]), text.string(text.frame_function[frame]))) return frame;
  }
  return frames.empty() ? FrameId{} : frames.front();
}

}  // namespace tapelens::model
