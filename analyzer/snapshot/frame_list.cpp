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
  native_.clear();
  python_.clear();
}

void FrameList::add(trace::FrameId frame, FrameKind kind) {
  all_.add(frame);
  if (kind == FrameKind::python) python_.add(frame);
  if (kind == FrameKind::native) native_.add(frame);
}

}  // namespace tapelens::snapshot
