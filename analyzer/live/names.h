// The interned names of a process that is followed while it runs. Ids come from an untrusted spool: an unknown one is
// an empty name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/record.h"

namespace tapelens::live {

// Ids of one process, as in its records; 0 means none.
struct SourceLine {
  std::string_view file, function;
  uint32_t line = 0;
};

class Names {
 public:
  void add(const trace::RecordHeader* record);

  std::string_view string(uint32_t id) const { return id < strings_.size() ? strings_[id] : std::string_view(); }
  std::string_view module_path(uint32_t id) const { return id < modules_.size() ? string(modules_[id]) : ""; }
  std::string_view device(uint8_t id) const { return string(devices_[id]); }
  // The frame to show for a stack, as in reports: model::source_frame. 0 for an unknown stack and for the native stacks
  // of C++ programs, whose symbols are only read when the recording is sealed.
  uint32_t source_frame(uint32_t stack) const;
  SourceLine line(uint32_t frame) const;
  // Whether the stack ends in PyTorch's Python call of the autograd engine: model::is_engine_call.
  bool is_engine_call(uint32_t stack) const;
  // Whether an operator is the engine's own or a custom function: the program calls the operators in it.
  bool is_transparent(uint32_t op) const;
  bool is_engine_operator(uint32_t op) const;
  // The string of kProgramStep; 0: not named yet.
  uint32_t program_step() const { return program_step_; }
  std::string_view rank() const { return string(rank_); }  // empty: the process has none

 private:
  struct Frame {
    uint32_t file = 0, function = 0, line = 0;
  };
  template <class T>
  static T* place(std::vector<T>& of, uint32_t id);

  std::vector<std::string> strings_;
  std::vector<Frame> frames_;
  std::vector<std::vector<uint32_t>> stacks_;  // innermost first
  std::vector<uint32_t> modules_;              // the string of the path
  mutable std::vector<uint32_t> source_of_;    // by stack: source_frame(), plus 1; 0: not computed yet
  uint32_t devices_[256] = {};
  uint32_t program_step_ = 0, rank_ = 0;
};

}  // namespace tapelens::live
