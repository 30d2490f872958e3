// Which memory the tensors of a call share. Without LibTorch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tapelens::simulated {

// From the first byte of a tensor to behind its last.
struct Extent {
  char* begin = nullptr;
  char* end = nullptr;
  bool is_written = false;

  size_t bytes() const { return static_cast<size_t>(end - begin); }
  bool operator==(const Extent&) const = default;
};

// Extents that overlap are one region, which is written if any of them is; in the order of addresses. Empty ones are
// left out.
inline std::vector<Extent> regions_of(std::vector<Extent> extents) {
  std::erase_if(extents, [](const Extent& extent) { return extent.begin == extent.end; });
  std::ranges::sort(extents, {}, &Extent::begin);
  std::vector<Extent> regions;
  for (const Extent& extent : extents) {
    if (!regions.empty() && extent.begin < regions.back().end) {
      regions.back().end = std::max(regions.back().end, extent.end);
      regions.back().is_written |= extent.is_written;
    } else {
      regions.push_back(extent);
    }
  }
  return regions;
}

// The region that an extent is a part of; `regions.size()` if there is none.
inline size_t region_of(const std::vector<Extent>& regions, const Extent& extent) {
  const auto next = std::ranges::upper_bound(regions, extent.begin, {}, &Extent::begin);
  if (next == regions.begin()) return regions.size();
  const auto at = next - 1;
  return extent.end <= at->end ? static_cast<size_t>(at - regions.begin()) : regions.size();
}

}  // namespace tapelens::simulated
