// Failures of a rewrite do not reach the program. attempt() catches every exception, reports it once and counts it; the
// program continues with its own tensors. Each entry from LibTorch or Python into the rewrites uses attempt().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profiler/rewrite/tally.h"

namespace tapelens::rewrite {

// The rewrite and its operation, for the count.
struct Attempted {
  std::string_view rewrite;
  Level level;
  RewriteSite site{};
  uint64_t bytes = 0;
};

// The rewrite's info, for the count. Catches exceptions of a third party's info().
RewriteInfo info_of(const Rewrite& rewrite) noexcept;

// In a catch block: the text of the exception, without LibTorch's backtrace.
std::string thrown_text();
// In a catch block.
void count_failure(const Attempted& what) noexcept;

// Returns false if `work` threw.
template <class Work>
bool attempt(const Attempted& what, Work work) noexcept {
  try {
    work();
    return true;
  } catch (...) {
    count_failure(what);
    return false;
  }
}

}  // namespace tapelens::rewrite
