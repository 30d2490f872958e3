// Memory of large columns.
#pragma once

#include <cstddef>
#include <vector>

namespace tapelens::model {

// Asks for pages of 2 MiB where memory that nobody wrote to yet is large enough; whether they come is the system's.
void prefer_large_pages(void* begin, size_t bytes);

// Room for `count` values in an empty vector. What fills a column of millions of rows takes most of its time in page
// faults: with large pages there are few.
template <class T>
void reserve_large(std::vector<T>& values, size_t count) {
  values.reserve(count);
  prefer_large_pages(values.data(), count * sizeof(T));
}

}  // namespace tapelens::model
