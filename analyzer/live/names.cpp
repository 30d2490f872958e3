#include "analyzer/live/names.h"

#include <algorithm>

#include "analyzer/model/operator_names.h"
#include "analyzer/model/text.h"

namespace tapelens::live {
namespace {

using namespace trace;

// Ids count from 1, and threads name things at once: an id is at most this far ahead of the known ones.
constexpr size_t kMostAhead = size_t{1} << 20;

}  // namespace

template <class T>
T* Names::place(std::vector<T>& of, uint32_t id) {
  if (id == 0 || id > of.size() + kMostAhead) return nullptr;
  if (id >= of.size()) of.resize(size_t{id} + 1);
  return &of[id];
}

void Names::add(const RecordHeader* record) {
  switch (record->kind) {
    case RecordKind::string: {
      const auto& text = as<StringRecord>(record);
      std::string* to = place(strings_, record->id);
      if (to == nullptr || !to->empty()) return;
      to->assign(reinterpret_cast<const char*>(&text + 1), text.bytes);
      if (*to == kProgramStep) program_step_ = record->id;
      return;
    }
    case RecordKind::frame: {
      const auto& frame = as<FrameRecord>(record);
      if (Frame* to = place(frames_, record->id)) *to = {frame.file, frame.function, frame.line};
      return;
    }
    case RecordKind::stack: {
      const auto& stack = as<StackRecord>(record);
      const auto* first = reinterpret_cast<const uint32_t*>(&stack + 1);
      if (auto* to = place(stacks_, record->id)) to->assign(first, first + stack.count);
      return;
    }
    case RecordKind::module:
      if (uint32_t* to = place(modules_, record->id)) *to = as<ModuleRecord>(record).path;
      return;
    case RecordKind::device:
      if (record->id < std::size(devices_)) devices_[record->id] = as<DeviceRecord>(record).name;
      return;
    case RecordKind::information:
      if (string(record->id) == "rank") rank_ = as<InformationRecord>(record).value;
      return;
    default:
      return;
  }
}

SourceLine Names::line(uint32_t id) const {
  const Frame frame = id < frames_.size() ? frames_[id] : Frame{};
  return {string(frame.file), string(frame.function), frame.line};
}

uint32_t Names::source_frame(uint32_t stack) const {
  if (stack >= stacks_.size() || stacks_[stack].empty()) return 0;
  if (source_of_.size() < stacks_.size()) source_of_.resize(stacks_.size());
  if (source_of_[stack] != 0) return source_of_[stack] - 1;
  uint32_t found = stacks_[stack].front();
  for (const uint32_t id : stacks_[stack]) {
    const SourceLine of = line(id);
    if (model::is_library_frame(of.file, of.function)) continue;
    found = id;
    break;
  }
  source_of_[stack] = std::min(found, UINT32_MAX - 1) + 1;
  return source_of_[stack] - 1;
}

bool Names::is_engine_call(uint32_t stack) const {
  if (stack >= stacks_.size() || stacks_[stack].empty()) return false;
  const uint32_t innermost = stacks_[stack].front();
  return innermost < frames_.size() && string(frames_[innermost].function).ends_with("_engine_run_backward");
}

bool Names::is_engine_operator(uint32_t op) const { return model::is_engine_operator(string(op)); }

bool Names::is_transparent(uint32_t op) const { return model::is_transparent(string(op)); }

}  // namespace tapelens::live
