// Frames as text, and names of frames in a list of several. Two files of the same name must not look like one place, so
// their names include folders until they differ.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/text.h"

namespace tapelens::peak {

struct Frame {
  std::string file, function;
  uint32_t line = 0;
};

Frame frame_of(const model::Text& text, model::FrameId frame);  // empty for no frame
// The line of an installed package that the user's line calls into (model::source_frame()). None if that is the user's
// line itself (model::own_frame()).
model::FrameId called_library_frame(const model::Text& text, model::StackId stack);
// Innermost first.
std::vector<Frame> frames_of(const model::Text& text, model::StackId stack);

struct SourceLine {
  std::string_view file, function;
  uint32_t line = 0;  // 0: a native frame
};

// "train.py:42 forward", with `folders` folders before the file.
std::string place_text(const SourceLine& place, unsigned folders = 0);

class FrameNames {
 public:
  // All frames of the list, before the first call that names one.
  void add(const SourceLine& place);
  std::string name(const SourceLine& place) const;

 private:
  struct Same {
    std::set<std::string, std::less<>> files;
    unsigned folders = 0;
  };
  std::map<std::string, Same> same_;  // by the name without folders
};

}  // namespace tapelens::peak
