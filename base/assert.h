// TAPELENS_ASSERT(condition): an invariant of our own code. The preset dev and the sanitizers check it and abort; other
// builds compile the condition and do not evaluate it. Input from outside is checked by ordinary code, never by this.
#pragma once

#ifdef TAPELENS_ASSERTIONS
#include <cstdio>
#include <cstdlib>

namespace tapelens::base {

[[noreturn]] inline void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: the assertion failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace tapelens::base

#define TAPELENS_ASSERT(...) \
  ((__VA_ARGS__) ? void(0) : ::tapelens::base::assertion_failed(#__VA_ARGS__, __FILE__, __LINE__))
#else
#define TAPELENS_ASSERT(...) void(sizeof(bool(__VA_ARGS__)))
#endif
