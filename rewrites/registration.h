// How the checks and the rewrites of a folder of plugins/, or of a shared library, are handed over: one function in
// extern "C" that returns a Registration. Which interface it is of, and what must agree besides, say
// analyzer/check/check.h (TAPELENS_CHECKS) and profiler/rewrite/rewrite.h (TAPELENS_REWRITES).
#pragma once

#include <cstdint>

namespace tapelens::rewrites {

// `Interface` has
//   Made                    what is made: a Check
//   kVersion                raised with every change that something compiled would notice
//   BuiltFor, kBuiltFor     what must agree besides: of a type that every version of the interface lays out alike
template <class Interface>
struct Registration {
  uint32_t interface = Interface::kVersion;  // nothing below is looked at unless it is ours
  uint32_t count = 0;
  typename Interface::BuiltFor built_for = Interface::kBuiltFor;
  typename Interface::Made* (*make)(uint32_t index) = nullptr;  // by `new`: the caller's
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

}  // namespace tapelens::rewrites

// The entry that is looked up by its name.
#define TAPELENS_REGISTRATION(SYMBOL, INTERFACE, ...)                                                             \
  extern "C" __attribute__((visibility("default"))) const tapelens::rewrites::Registration<INTERFACE>* SYMBOL() { \
    return tapelens::rewrites::registration_of<INTERFACE, __VA_ARGS__>();                                         \
  }
