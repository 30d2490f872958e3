// Which group an allocation belongs to, as a number: counted first and named once at the end, for there may be
// millions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/model/parameter_modules.h"
#include "analyzer/peak/groups.h"

namespace tapelens::peak {

class Keys {
 public:
  Keys(const Process& process, const Text& text, const std::vector<Step>& steps, By by);

  uint64_t key(AllocationId allocation, const Holder& holder);

  // Keys may have one name: two frames of one line, a string that was interned by two processes. Two files of the same
  // name do not look like one place: their folders are shown until they differ.
  std::map<uint64_t, std::string> names(std::span<const uint64_t> keys) const;

 private:
  std::string name(uint64_t key, const FrameNames& frames) const;
  std::string stack_name(StackId stack, const FrameNames& frames) const;

  const Process& p_;
  const Text& text_;
  const std::vector<Step>& steps_;
  By by_;
  std::optional<ParameterModules> modules_;  // of By::module
  std::vector<uint32_t> source_of_;          // by stack: its frame to show; UINT32_MAX: not asked yet
};

}  // namespace tapelens::peak
