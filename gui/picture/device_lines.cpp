#include "gui/picture/device_lines.h"

#include <algorithm>

namespace tapelens::picture {

namespace {

std::vector<int64_t> largest_of(const std::vector<int64_t>& values, size_t block) {
  std::vector<int64_t> out;
  out.reserve(values.size() / block + 1);
  for (size_t begin = 0; begin < values.size(); begin += block) {
    const size_t end = std::min(values.size(), begin + block);
    out.push_back(
        *std::max_element(values.begin() + static_cast<int64_t>(begin), values.begin() + static_cast<int64_t>(end)));
  }
  return out;
}

peak::StepCurve active_of(const peak::DeviceMemory& memory) {
  peak::StepCurve out;
  const peak::StepCurve &a = memory.allocated, &w = memory.waiting;
  if (w.time.empty()) return out;
  // A free request moves a block from one curve to the other at one time, so the sum is computed after both changes.
  for (size_t i = 0, j = 0; i < a.time.size() || j < w.time.size();) {
    const int64_t now = std::min(i < a.time.size() ? a.time[i] : INT64_MAX, j < w.time.size() ? w.time[j] : INT64_MAX);
    while (i < a.time.size() && a.time[i] == now) ++i;
    while (j < w.time.size() && w.time[j] == now) ++j;
    out.time.push_back(now);
    out.value.push_back((i == 0 ? 0 : a.value[i - 1]) + (j == 0 ? 0 : w.value[j - 1]));
  }
  return out;
}

}  // namespace

Line::Line(const peak::StepCurve& curve) : curve_(curve) {
  for (const std::vector<int64_t>* below = &curve.value; below->size() > kBlock; below = &most_.back()) {
    std::vector<int64_t> largest = largest_of(*below, kBlock);
    most_.push_back(std::move(largest));
  }
}

int64_t Line::most(size_t first, size_t last) const {
  int64_t most = first == 0 ? 0 : curve_.value[first - 1];
  // The values at both ends that do not fill a block of the next level.
  const std::vector<int64_t>* values = &curve_.value;
  for (size_t level = 0;; ++level) {
    const bool is_highest = level == most_.size();
    while (first < last && (is_highest || first % kBlock != 0)) most = std::max(most, (*values)[first++]);
    while (first < last && last % kBlock != 0) most = std::max(most, (*values)[--last]);
    if (first == last) return most;
    first /= kBlock;
    last /= kBlock;
    values = &most_[level];
  }
}

void Line::columns(const TimeAxis& axis, std::vector<Bytes>& out) const {
  out.resize(static_cast<size_t>(axis.width));
  size_t first = curve_.time.at_or_after(axis.time_of(0).ns);
  for (int c = 0; c < axis.width; ++c) {
    const size_t last = std::max(first, curve_.time.at_or_after(axis.time_of(c + 1).ns, first));
    out[static_cast<size_t>(c)] = Bytes{most(first, last)};
    first = last;
  }
}

DeviceLines::DeviceLines(const peak::DeviceMemory& of)
    : memory(of),
      active_bytes(active_of(of)),
      allocated(of.allocated),
      active(active_bytes),
      reserved(of.reserved),
      most(std::max({of.allocated_peak, of.active_peak, of.reserved_peak})) {}

}  // namespace tapelens::picture
