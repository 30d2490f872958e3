// The saved fields of every node type that LibTorch generates. saved_fields.py generates the table from the Functions.h
// of the PyTorch that the probe is built for.
#pragma once

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <cstddef>
#include <cstdint>
#include <typeinfo>
#include <vector>

#include "profiler/observe/attributes.h"

namespace tapelens::observe {

// Called for each saved field of a node; `field` numbers the fields of all types.
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
  void (*attributes)(const torch::autograd::Node& node, AttributeText& text);  // null: no attributes needed
};

extern const SavedFields kSavedFields[];
extern const size_t kSavedFieldTypes;
extern const char* const kFieldNames[];  // "input", by field
extern const size_t kFields;

}  // namespace tapelens::observe
