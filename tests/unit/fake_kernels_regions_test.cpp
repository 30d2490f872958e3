// The memory that the tensors of a call share.
#include <gtest/gtest.h>

#include "profiler/fake_kernels/regions.h"

namespace tapelens::fake_kernels {
namespace {

char* at(uintptr_t address) { return reinterpret_cast<char*>(address); }
Extent extent(uintptr_t begin, uintptr_t end, bool is_written = false) { return {at(begin), at(end), is_written}; }

using Extents = std::vector<Extent>;

TEST(Regions, WhatOverlapsIsOneAndInTheOrderOfAddresses) {
  EXPECT_EQ(regions_of({extent(300, 400), extent(100, 200), extent(150, 250)}),
            (Extents{extent(100, 250), extent(300, 400)}));
}

TEST(Regions, WhatOnlyTouchesIsApart) {
  EXPECT_EQ(regions_of({extent(100, 200), extent(200, 300, true)}),
            (Extents{extent(100, 200), extent(200, 300, true)}));
}

TEST(Regions, OneThatIsWrittenMakesItsRegionWritten) {
  EXPECT_EQ(regions_of({extent(100, 500), extent(200, 300, true), extent(400, 450)}),
            (Extents{extent(100, 500, true)}));
}

TEST(Regions, ExtentsWithoutBytesAreLeftOut) {
  EXPECT_TRUE(regions_of({extent(0, 0), extent(100, 100, true)}).empty());
}

TEST(Regions, EachExtentIsAPartOfItsRegion) {
  const Extents extents = {extent(100, 200), extent(150, 250, true), extent(300, 400)};
  const Extents regions = regions_of(extents);
  EXPECT_EQ(region_of(regions, extents[0]), 0U);
  EXPECT_EQ(region_of(regions, extents[1]), 0U);
  EXPECT_EQ(region_of(regions, extents[2]), 1U);
  EXPECT_EQ(region_of(regions, extent(350, 450)), regions.size()) << "a tensor that was made larger";
  EXPECT_EQ(region_of(regions, extent(50, 60)), regions.size());
  EXPECT_EQ(region_of({}, extent(50, 60)), 0U);
}

}  // namespace
}  // namespace tapelens::fake_kernels
