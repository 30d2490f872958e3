// Counts the steps of a process from its events, as profiler/observe/steps.h does. A step ends with a step of the
// optimizer that stepped first. From the program's first own mark on, only the program's marks end steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "trace/record.h"
#include "trace/spool_reader.h"

namespace tapelens::trace {

class StepBorders {
 public:
  // `optimizer`: the string that names it; 0: the first optimizer that ends a step. `program`: kProgramStep; 0: the
  // program sets no marks.
  explicit StepBorders(uint32_t program, uint32_t optimizer = 0)
      : program_(program), optimizer_(optimizer), is_given_(optimizer != 0) {}

  // For followers of a running process: the program's mark was named after the construction.
  void set_program(uint32_t program) { program_ = program; }
  // Whether the event is a border.
  bool event(const RecordHeader* record, size_t lane) {
    is_first_of_program_ = false;
    if (record->kind == RecordKind::optimizer_begin) open_[lane].push_back(record->id);
    if (record->kind != RecordKind::optimizer_end) return false;
    std::vector<uint32_t>& open = open_[lane];
    if (open.empty()) return false;
    const uint32_t ended = open.back();
    open.pop_back();
    is_first_of_program_ = ended == program_ && optimizer_ != program_ && !is_given_;
    if (optimizer_ == 0 || is_first_of_program_) optimizer_ = ended;
    return ended == optimizer_;
  }
  // Whether event() just saw the first mark of the program, which cancels all earlier borders.
  bool starts_anew() const { return is_first_of_program_; }
  void gap(size_t lane) { open_[lane].clear(); }
  uint32_t optimizer() const { return optimizer_; }

 private:
  uint32_t program_, optimizer_;
  bool is_given_, is_first_of_program_ = false;
  std::map<size_t, std::vector<uint32_t>> open_;  // by lane: names of optimizers that are stepping
};

// The string id of kProgramStep; 0: not in the spool.
inline uint32_t program_step_of(const SpoolReader& spool) {
  for (const RecordHeader* record : spool.interned(RecordKind::string)) {
    const auto& text = *reinterpret_cast<const StringRecord*>(record);
    if (std::string_view(reinterpret_cast<const char*>(&text + 1), text.bytes) == kProgramStep) return record->id;
  }
  return 0;
}

}  // namespace tapelens::trace
