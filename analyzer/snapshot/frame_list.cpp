#include "analyzer/snapshot/frame_list.h"

namespace tapelens::snapshot {

void FrameList::Frames::clear() {
  frames.clear();
  is_cut = false;
}

void FrameList::Frames::add(trace::FrameId frame) {
  if (frames.size() < kMostFrames) {
    frames.push_back(frame);
  } else {
    is_cut = true;
  }
}

void FrameList::clear() {
  all_.clear();
  program_.clear();
}

void FrameList::add(trace::FrameId frame, bool is_native) {
  all_.add(frame);
  if (!is_native) program_.add(frame);
}

}  // namespace tapelens::snapshot
