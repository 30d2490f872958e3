// The saved fields of every node type that LibTorch generates. The table itself is generated, from the Functions.h of
// the PyTorch that the probe is built for, by saved_fields.py.
#pragma once

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <cstddef>
#include <cstdint>
#include <typeinfo>
#include <vector>

#include "profiler/observe/attributes.h"

namespace tapelens::observe {

// Called with each saved field of a node; `field` counts the fields of all types.
class FieldVisitor {
 public:
  virtual void one(uint32_t field, uint32_t index, const torch::autograd::SavedVariable& save) = 0;
  void many(uint32_t field, const std::vector<torch::autograd::SavedVariable>& saves) {
    for (size_t i = 0; i < saves.size(); ++i) one(field, static_cast<uint32_t>(i), saves[i]);
  }

 protected:
  ~FieldVisitor() = default;
};

struct SavedFields {
  const std::type_info* type;
  void (*visit)(const torch::autograd::Node& node, FieldVisitor& visitor);
  void (*attributes)(const torch::autograd::Node& node, AttributeText& text);  // null: none are asked for
};

extern const SavedFields kSavedFields[];
extern const size_t kSavedFieldTypes;
extern const char* const kFieldNames[];  // "input", by field
extern const size_t kFields;

}  // namespace tapelens::observe
