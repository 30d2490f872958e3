// The memory that the tensors of a call share. Without LibTorch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tapelens::fake_kernels {

// From the first byte of a tensor to the end of its last.
struct Extent {
  char* begin = nullptr;
  char* end = nullptr;
  bool is_written = false;

  size_t bytes() const { return static_cast<size_t>(end - begin); }
  bool operator==(const Extent&) const = default;
};

// Merges overlapping extents to regions, in address order. A region is written if any of its extents is. Empty extents
// are left out.
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

// The region that contains an extent; `regions.size()` if none does.
inline size_t region_of(const std::vector<Extent>& regions, const Extent& extent) {
  const auto next = std::ranges::upper_bound(regions, extent.begin, {}, &Extent::begin);
  if (next == regions.begin()) return regions.size();
  const auto at = next - 1;
  return extent.end <= at->end ? static_cast<size_t>(at - regions.begin()) : regions.size();
}

}  // namespace tapelens::fake_kernels
