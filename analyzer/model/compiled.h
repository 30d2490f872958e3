// Nodes of functions that torch.compile made. The compiler chooses their saves; no line of the program and no rewrite
// changes them.
#pragma once

#include <string>
#include <string_view>

namespace tapelens::model {

// Whether the type of a node is that of a compiled function.
inline bool is_compiled(std::string_view type) { return type == "CompiledFunctionBackward"; }

// The name of a save: "ConvolutionBackward0.input", or "(unattributed).input" for an unknown node. If the graph of a
// compiled function is known, the field alone is the name: "addmm (model.py:7 Net.forward) saved_tensors[10]".
inline std::string field_name(std::string_view type, std::string_view field) {
  if (is_compiled(type) && field.find(' ') != std::string_view::npos) return std::string(field);
  return std::string(type.empty() ? "(unattributed)" : type) + "." + std::string(field);
}

// Whether a name that field_name() returned is that of a compiled function's save.
inline bool names_compiled(std::string_view field) {
  return field.starts_with("CompiledFunctionBackward.") || field.find(" saved_tensors[") != std::string_view::npos;
}

}  // namespace tapelens::model
