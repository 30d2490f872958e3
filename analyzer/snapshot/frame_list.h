// The frames of one stack while its list is read.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "trace/types.h"

namespace tapelens::snapshot {

// A recording of a run keeps as many frames of a stack, the innermost.
inline constexpr size_t kMostFrames = 8 * 1024 - 64;

class FrameList {
 public:
  void clear();
  // From the innermost on. `is_native`: of PyTorch or the interpreter.
  void add(trace::FrameId frame, bool is_native);
  // Without native frames, which do not name the program; all frames if there are no others.
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
  const Frames& chosen() const { return program_.frames.empty() ? all_ : program_; }
  Frames all_, program_;
};

}  // namespace tapelens::snapshot
