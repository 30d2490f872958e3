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

// ".../lib/python3.12/asyncio/base_events.py", but not what is installed beside it.
bool is_python_standard_library(std::string_view file) {
  const size_t place = file.rfind("/lib/python3");
  if (place == std::string_view::npos) return false;
  return !contains(file.substr(place), "/site-packages/") && !contains(file.substr(place), "/dist-packages/");
}

}  // namespace

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
  // Modules of Python itself; code that torch.fx generated.
  if (file.starts_with("<frozen ") || file.starts_with("<eval_with_key>")) return true;
  if (std::ranges::any_of(kFiles, [&](std::string_view part) { return contains(file, part); })) return true;
  if (is_python_standard_library(file)) return true;
  return std::ranges::any_of(kFunctions, [&](std::string_view prefix) { return function.starts_with(prefix); });
}

bool is_own_frame(const Text& text, FrameId frame) {
  const std::string_view file = text.string(text.frame_file[frame]);
  return !contains(file, "/site-packages/") && !contains(file, "/dist-packages/") &&
         !is_library_frame(file, text.string(text.frame_function[frame]));
}

FrameId own_frame(const Text& text, StackId stack) {
  const auto frames = text.stack(stack);
  const auto own = std::ranges::find_if(frames, [&](FrameId frame) { return is_own_frame(text, frame); });
  return own == frames.end() ? source_frame(text, stack) : *own;
}

FrameId source_frame(const Text& text, StackId stack) {
  const std::span<const FrameId> frames = text.stack(stack);
  for (const FrameId frame : frames) {
    if (!is_library_frame(text.string(text.frame_file[frame]), text.string(text.frame_function[frame]))) return frame;
  }
  return frames.empty() ? FrameId{} : frames.front();
}

}  // namespace tapelens::model
