// The frames of one stack while its list is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/types.h"

namespace tapelens::snapshot {

// A recording of a run keeps as many frames of a stack, the innermost.
inline constexpr size_t kMostFrames = 8 * 1024 - 64;

// native: in C++; library: of PyTorch, the interpreter and similar libraries.
enum class FrameKind : uint8_t { python, native, library };

class FrameList {
 public:
  void clear();
  // From the innermost on.
  void add(trace::FrameId frame, FrameKind kind);
  // The Python frames; without any, the C++ frames outside libraries; without any, all frames.
  std::span<const trace::FrameId> kept() const { return chosen().frames; }
  // Frames past kMostFrames were left out.
  bool is_cut() const { return chosen().is_cut; }

 private:
  struct Frames {
    std::vector<trace::FrameId> frames;
    bool is_cut = false;
    void clear();
    void add(trace::FrameId frame);
  };
  const Frames& chosen() const {
    if (!python_.frames.empty()) return python_;
    return native_.frames.empty() ? all_ : native_;
  }
  Frames all_, native_, python_;
};

}  // namespace tapelens::snapshot
