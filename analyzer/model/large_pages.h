// Memory of large columns.
#pragma once

#include <cstddef>
#include <vector>

namespace tapelens::model {

// Asks the kernel for 2 MiB pages if the range, which must be unwritten, is large enough. The kernel may refuse.
void prefer_large_pages(void* begin, size_t bytes);

// Reserves `count` values in an empty vector. Page faults dominate the time to fill a column of millions of rows; large
// pages avoid most of them.
template <class T>
void reserve_large(std::vector<T>& values, size_t count) {
  values.reserve(count);
  prefer_large_pages(values.data(), count * sizeof(T));
}

}  // namespace tapelens::model
