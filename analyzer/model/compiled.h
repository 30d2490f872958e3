// Nodes of functions that torch.compile made. What such a node saves is the compiler's choice: no line of the program
// and no rewrite changes it.
#pragma once

#include <string>
#include <string_view>

namespace tapelens::model {

// By the type of a node.
inline bool is_compiled(std::string_view type) { return type == "CompiledFunctionBackward"; }

// "ConvolutionBackward0.input"; "(unattributed).input" of a node that is not known. Of a compiled function, where its
// graph is known, a field says all: "addmm (model.py:7 Net.forward) saved_tensors[10]".
inline std::string field_name(std::string_view type, std::string_view field) {
  if (is_compiled(type) && field.find(' ') != std::string_view::npos) return std::string(field);
  return std::string(type.empty() ? "(unattributed)" : type) + "." + std::string(field);
}

// Of such a name: whether it is that of a compiled function's save.
inline bool names_compiled(std::string_view field) {
  return field.starts_with("CompiledFunctionBackward.") || field.find(" saved_tensors[") != std::string_view::npos;
}

}  // namespace tapelens::model
