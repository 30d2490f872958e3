// The module that a parameter, a buffer, a gradient or an optimizer's state belongs to. They are made outside of
// modules' calls; what places them is their name: "layer1.conv.weight" is of the module "Net.layer1.conv".
#pragma once

#include <cstdint>
#include <unordered_map>

#include "analyzer/model/model.h"
#include "analyzer/model/text.h"

namespace tapelens::model {

class ParameterModules {
 public:
  ParameterModules(const Process& process, const Text& text);

  // None: it has no such role, or a name that fits no module, or modules of several models.
  ModuleId of(AllocationId allocation) const;

 private:
  std::unordered_map<uint32_t, ModuleId> module_;  // by allocation
};

}  // namespace tapelens::model
