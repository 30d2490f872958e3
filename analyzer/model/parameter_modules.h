// The module that owns a parameter, a buffer, a gradient or an optimizer's state. These are made outside of module
// calls, so the name decides: "layer1.conv.weight" belongs to the module "Net.layer1.conv".
#pragma once

#include <cstdint>
#include <unordered_map>

#include "analyzer/model/model.h"
#include "analyzer/model/text.h"

namespace tapelens::model {

class ParameterModules {
 public:
  ParameterModules(const Process& process, const Text& text);

  // None if the allocation has no such role, or if its name fits no module or modules of several models.
  ModuleId of(AllocationId allocation) const;

 private:
  std::unordered_map<uint32_t, ModuleId> module_;  // by allocation
};

}  // namespace tapelens::model
