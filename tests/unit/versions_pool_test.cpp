// The pool of small objects. Sanitizer builds allocate by `new` instead.
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "profiler/versions/pool.h"

namespace tapelens::versions {
namespace {

TEST(Pool, BlocksOfAllSizesAreAlignedAsByNew) {
  std::vector<std::pair<void*, size_t>> blocks;
  for (size_t bytes = 1; bytes <= 4200; ++bytes) {
    for (int i = 0; i < 3; ++i) {
      void* const block = pool_allocate(bytes);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignof(std::max_align_t), 0u) << bytes;
      blocks.emplace_back(block, bytes);
    }
  }
  for (const auto& [block, bytes] : blocks) pool_free(block, bytes);
}

}  // namespace
}  // namespace tapelens::versions
