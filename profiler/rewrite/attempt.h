// What goes wrong in a rewrite is not the program's: whatever it throws ends here, is said once and counted, and the
// program goes on with what it had. Each way from LibTorch or Python into the rewrites goes through attempt().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profiler/rewrite/tally.h"

namespace tapelens::rewrite {

// What is tried, for the count.
struct Attempted {
  std::string_view rewrite;
  Level level;
  RewriteSite site{};
  uint64_t bytes = 0;
};

// What a rewrite says of itself, for the count: of a third party's even that may throw.
RewriteInfo info_of(const Rewrite& rewrite) noexcept;

// In a catch block: what was thrown, without LibTorch's backtrace.
std::string thrown_text();
// In a catch block.
void count_failure(const Attempted& what) noexcept;

// False: it threw.
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
