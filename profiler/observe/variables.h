// Searches for the program's variables (`record --referrers`), made by the recording's Python part: before backwards,
// and at safe points, where a search is due near the peak or after an out of memory. At a safe point the calling thread
// may run Python, because its stack is taken there, too.
#pragma once

#include <atomic>
#include <cstdint>

#include "profiler/observe/thread.h"

namespace tapelens::observe {

// `end`: an operator that Python called ends. Its inputs still have their variables, its result has none yet.
// `begin`: such an operator or a backward begins; earlier results have their variables.
enum class SafePoint : uint8_t { begin, end };

// `record --referrers`. Set before the first hook.
extern bool g_searches_variables;
// Set by the recording when record::search_begins() may want a search.
extern std::atomic<bool> g_search_may_be_due;

void search_if_due(Thread& thread, SafePoint at) noexcept;
inline void safe_point(Thread& thread, SafePoint at) noexcept {
  if (g_search_may_be_due.load(std::memory_order_relaxed)) [[unlikely]]
    search_if_due(thread, at);
}

// An allocation is a safe point if Python itself allocates it for a storage, outside of operators.
void safe_point_outside_of_operators(Thread& thread) noexcept;

// For programs with optimizers that PyTorch does not know.
void search_before_backward(Thread& thread);

}  // namespace tapelens::observe
