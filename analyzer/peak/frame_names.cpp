#include "analyzer/peak/frame_names.h"

namespace tapelens::peak {

namespace {

constexpr unsigned kMostFolders = 64;

std::string_view with_folders(std::string_view file, unsigned folders) {
  size_t begin = file.size();
  for (unsigned part = 0; part <= folders && begin != std::string_view::npos && begin > 0; ++part) {
    begin = file.rfind('/', begin - 1);
  }
  if (begin != std::string_view::npos && begin < file.size()) file.remove_prefix(begin + 1);
  return file;
}

// The fewest folders with which all of them differ.
unsigned telling_apart(const std::set<std::string, std::less<>>& files) {
  for (unsigned folders = 0; folders < kMostFolders; ++folders) {
    std::set<std::string_view> seen;
    for (const std::string& file : files) seen.insert(with_folders(file, folders));
    if (seen.size() == files.size()) return folders;
  }
  return kMostFolders;
}

}  // namespace

Frame frame_of(const model::Text& text, model::FrameId frame) {
  if (!frame) return {};
  return {std::string(text.string(text.frame_file[frame])), std::string(text.string(text.frame_function[frame])),
          text.frame_line[frame]};
}

model::FrameId called_library_frame(const model::Text& text, model::StackId stack) {
  const model::FrameId own = own_frame(text, stack), innermost = source_frame(text, stack);
  return innermost && innermost != own && !is_own_frame(text, innermost) ? innermost : model::FrameId{};
}

std::vector<Frame> frames_of(const model::Text& text, model::StackId stack) {
  std::vector<Frame> frames;
  for (const model::FrameId frame : text.stack(stack)) frames.push_back(frame_of(text, frame));
  return frames;
}

std::string place_text(const SourceLine& place, unsigned folders) {
  std::string out(with_folders(place.file, folders));
  if (place.line != 0) out += ":" + std::to_string(place.line);
  if (!place.function.empty()) out += (out.empty() ? "" : " ") + std::string(place.function);
  return out;
}

void FrameNames::add(const SourceLine& place) {
  Same& same = same_[place_text(place)];
  if (same.files.contains(place.file)) return;
  same.files.emplace(place.file);
  if (same.files.size() > 1) same.folders = telling_apart(same.files);
}

std::string FrameNames::name(const SourceLine& place) const {
  const auto same = same_.find(place_text(place));
  return place_text(place, same == same_.end() ? 0 : same->second.folders);
}

}  // namespace tapelens::peak
