// The group of an allocation, as a number. Groups get names only after all allocations are counted, because a recording
// may have millions of allocations.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/model/attribution.h"
#include "analyzer/peak/groups.h"

namespace tapelens::peak {

class Keys {
 public:
  Keys(const Process& process, const Text& text, const std::vector<Step>& steps, By by);

  uint64_t key(AllocationId allocation, const Holder& holder);

  // Several keys may have the same name: two frames of one line, or a string that two processes interned. Names of two
  // files with the same name include folders until they differ.
  std::map<uint64_t, std::string> names(std::span<const uint64_t> keys) const;

 private:
  std::string name(uint64_t key, const FrameNames& frames) const;
  std::string stack_name(StackId stack, const FrameNames& frames) const;

  const Process& p_;
  const Text& text_;
  const std::vector<Step>& steps_;
  By by_;
  std::optional<ParameterModules> modules_;  // only for By::module
  std::vector<uint32_t> source_of_;          // by stack: its frame to show; UINT32_MAX: not computed yet
};

}  // namespace tapelens::peak
