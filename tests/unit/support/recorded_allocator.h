// Recordings of a CUDA device, made by the model of its allocator.
#pragma once

#include <optional>

#include "analyzer/allocator/caching_allocator.h"
#include "testing/trace_builder.h"

namespace tapelens::testing {

constexpr uint64_t kBase = 0x7000'0000'0000;

// Writes the events of PyTorch's allocator for requests of the allocator model: a device that records each request.
class RecordedAllocator : public allocator::Device {
 public:
  explicit RecordedAllocator(trace::SpoolBuilder& b, uint64_t card = allocator::kNoLimit) : b_(b), card_(card) {}
  std::optional<uint64_t> allocate(uint64_t bytes) override {
    if (used_ + bytes > card_) return std::nullopt;
    used_ += bytes;
    const uint64_t address = next_;
    next_ -= 100 * allocator::kMiB;  // descending, as real addresses may be
    b_.segment(trace::SegmentChange::allocated, address, bytes);
    return address;
  }
  void free(uint64_t address, uint64_t bytes) override {
    used_ -= bytes;
    b_.segment(trace::SegmentChange::freed, address, bytes);
  }
  uint64_t reserve_addresses() override { return next_ -= uint64_t{1} << 40; }
  bool map(uint64_t address, uint64_t bytes) override {
    if (used_ + bytes > card_) return false;
    used_ += bytes;
    b_.segment(trace::SegmentChange::mapped, address, bytes);
    return true;
  }
  void unmap(uint64_t address, uint64_t bytes) override {
    used_ -= bytes;
    b_.segment(trace::SegmentChange::unmapped, address, bytes);
  }

 private:
  trace::SpoolBuilder& b_;
  const uint64_t card_;
  uint64_t used_ = 0, next_ = kBase;
};

}  // namespace tapelens::testing
