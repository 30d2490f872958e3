// The tables that all processes of a recording share and refer to by id: strings, frames, stacks, layouts, modules,
// devices.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/column.h"
#include "analyzer/model/model.h"
#include "analyzer/model/source_files.h"
#include "trace/recording.h"
#include "trace/types.h"

namespace tapelens::model {

using trace::FrameId;

struct Text {
  std::string bytes;
  std::vector<uint64_t> string_begin = std::vector<uint64_t>(2);  // into bytes; string i is from [i] to [i + 1]
  IdColumn<FrameId, StringId> frame_file, frame_function;
  IdColumn<FrameId, uint32_t> frame_line;
  std::vector<uint32_t> stack_begin = std::vector<uint32_t>(2);  // into stack_frames, likewise
  std::vector<FrameId> stack_frames;                             // innermost first
  IdColumn<LayoutId, StringId> layout_dtype;
  WideColumn<LayoutId, Bytes> layout_bytes;  // number of elements times bytes of an element, independent of strides
  std::vector<uint32_t> layout_begin = std::vector<uint32_t>(2);  // into layout_sizes, likewise
  std::vector<uint64_t> layout_sizes;
  std::vector<int64_t> layout_strides;  // in elements, at the same indices
  IdColumn<LayoutId, uint16_t, uint16_t> layout_element_bytes;
  IdColumn<ModuleId, StringId> module_path, module_type;
  IdColumn<DeviceId, StringId> device_name;
  std::vector<SourceFile> sources;  // in the order of path; see source_files.h
  std::vector<LeftOut> left_out;
  bool is_imported = false;  // as in Process

  std::string_view string(StringId id) const {
    return std::string_view(bytes).substr(string_begin[id.value], string_begin[id.value + 1] - string_begin[id.value]);
  }
  std::span<const FrameId> stack(StackId id) const {
    return std::span(stack_frames).subspan(stack_begin[id.value], stack_begin[id.value + 1] - stack_begin[id.value]);
  }
  std::span<const uint64_t> sizes(LayoutId id) const {
    return std::span(layout_sizes).subspan(layout_begin[id.value], layout_begin[id.value + 1] - layout_begin[id.value]);
  }
  std::span<const int64_t> strides(LayoutId id) const {
    return std::span(layout_strides)
        .subspan(layout_begin[id.value], layout_begin[id.value + 1] - layout_begin[id.value]);
  }
};

// "float32 [8, 64, 56, 56]"
std::string layout_text(const Text& text, LayoutId layout);

// The frame to show for a stack: the innermost one outside of PyTorch and the standard libraries of Python and C++.
// If no frame is outside, the innermost of all; none for an empty stack. For an imported snapshot: the innermost Python
// frame of the user's own files, else the innermost Python frame.
FrameId source_frame(const Text& text, StackId stack);

// Whether the frame is in the user's own files: neither a library frame (is_library_frame) nor in an installed package.
bool is_own_frame(const Text& text, FrameId frame);
// The line to edit: the innermost own frame, else the frame of source_frame().
FrameId own_frame(const Text& text, StackId stack);

// Whether a frame's file belongs to PyTorch or to the language, so the user did not write it.
bool is_library_frame(std::string_view file, std::string_view function);
bool is_installed_frame(std::string_view file);  // a file of an installed package
bool is_python_frame(std::string_view file);

}  // namespace tapelens::model
