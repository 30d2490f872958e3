// Facts that follow from the name of an operator. Used by attribution.h, and by code that follows a run without a
// model.
#pragma once

#include <string_view>

namespace tapelens::model {

// The engine's evaluation of a node: attribution.h, is_engine_operator().
inline bool is_engine_operator(std::string_view name) {
  return name.starts_with("autograd::engine::evaluate_function");
}
// The engine's operator, or a custom function: attribution.h, is_transparent().
inline bool is_transparent(std::string_view name) {
  return is_engine_operator(name) || name.find("::") == std::string_view::npos;
}

}  // namespace tapelens::model
