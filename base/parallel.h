// Work on all processors.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tapelens::base {

inline constexpr uint64_t kRowsWorthThreads = 200'000;  // small recordings are read without threads
inline constexpr uint64_t kManyRows = UINT64_MAX;

// Calls task(i) once for each i below `count`, smaller numbers first, from as many threads as the process has
// processors; the caller is one of them. `rows`: about how many rows all tasks read. Below kRowsWorthThreads the caller
// is the only thread. Returns after the last call. After an exception no further task begins, and the caller gets the
// first exception. Without threads (a limit of the system) the caller does all of it.
template <class Task>
void parallel_for(size_t count, uint64_t rows, const Task& task) {
  constexpr size_t kMostThreads = 8;
  const size_t processors = rows < kRowsWorthThreads ? 1 : std::max(1U, std::thread::hardware_concurrency());
  const size_t threads = std::min({processors, kMostThreads, count});
  std::atomic<size_t> next{0};
  std::once_flag once;
  std::exception_ptr failure;
  const auto work = [&] {
    for (size_t at = next++; at < count; at = next++) {
      try {
        task(at);
      } catch (...) {
        std::call_once(once, [&] { failure = std::current_exception(); });
        next = count;
      }
    }
  };
  std::vector<std::thread> others;
  try {
    for (size_t i = 1; i < threads; ++i) others.emplace_back(work);
  } catch (const std::exception&) {  // no memory or threads: those that exist do the work
  }
  work();
  for (std::thread& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace tapelens::base
