// How a folder of plugins/, or a shared library, registers its checks and rewrites: one extern "C" function that
// returns a Registration. analyzer/check/check.h (TAPELENS_CHECKS) and profiler/rewrite/rewrite.h (TAPELENS_REWRITES)
// define the interfaces and their other requirements.
#pragma once

#include <cstdint>

namespace tapelens::policy {

// `Interface` has
//   Made                    the type to make: a Check
//   kVersion                raised with every change that affects compiled plugins
//   BuiltFor, kBuiltFor     what else must match: a type with the same layout in every version of the interface
template <class Interface>
struct Registration {
  uint32_t interface = Interface::kVersion;  // if it differs from ours, the members below are ignored
  uint32_t count = 0;
  typename Interface::BuiltFor built_for = Interface::kBuiltFor;
  typename Interface::Made* (*make)(uint32_t index) = nullptr;  // by `new`: the caller owns it
};

template <class Interface, class... Classes>
const Registration<Interface>* registration_of() {
  using Made = typename Interface::Made;
  static constexpr Registration<Interface> kRegistration{.count = sizeof...(Classes),
                                                         .make = [](uint32_t index) -> Made* {
                                                           Made* made = nullptr;
                                                           uint32_t at = 0;
                                                           ((at++ == index ? (made = new Classes) : nullptr), ...);
                                                           return made;
                                                         }};
  return &kRegistration;
}

}  // namespace tapelens::policy

// The entry point, which is looked up by its name.
#define TAPELENS_REGISTRATION(SYMBOL, INTERFACE, ...)                                                           \
  extern "C" __attribute__((visibility("default"))) const tapelens::policy::Registration<INTERFACE>* SYMBOL() { \
    return tapelens::policy::registration_of<INTERFACE, __VA_ARGS__>();                                         \
  }
