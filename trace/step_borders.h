// Counts the steps of a process as its events come: the end of a step of the optimizer that stepped first is a border,
// as profiler/observe/steps.h counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "trace/record.h"

namespace tapelens::trace {

class StepBorders {
 public:
  // `optimizer`: the string that names it; 0: the first that ends a step.
  explicit StepBorders(uint32_t optimizer = 0) : optimizer_(optimizer) {}

  // Whether the event is a border.
  bool event(const RecordHeader* record, size_t lane) {
    if (record->kind == RecordKind::optimizer_begin) open_[lane].push_back(record->id);
    if (record->kind != RecordKind::optimizer_end) return false;
    std::vector<uint32_t>& open = open_[lane];
    if (open.empty()) return false;
    const uint32_t ended = open.back();
    open.pop_back();
    if (optimizer_ == 0) optimizer_ = ended;
    return ended == optimizer_;
  }
  void gap(size_t lane) { open_[lane].clear(); }
  uint32_t optimizer() const { return optimizer_; }

 private:
  uint32_t optimizer_;
  std::map<size_t, std::vector<uint32_t>> open_;  // by lane: names of those that are stepping
};

}  // namespace tapelens::trace
