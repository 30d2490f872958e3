// The file in which a process of a run counts its rewrites (policy/tally.h writes it, cli/tally.h reads it).
// It is mapped when the process begins to rewrite, so that counts survive any end of the process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tapelens::policy {

inline constexpr uint64_t kTallyMagic = 0x32594c4c4154534cULL;  // "LSTALLY2"
inline constexpr size_t kTallyRows = 1000;

// Counts of one rewrite at one level; for skipped saves, of one reason. Texts end with a zero; longer texts are cut.
struct TallyRow {
  char rewrite[48];
  char reason[160];  // empty: it was applied
  uint32_t level, reserved;
  std::atomic<uint64_t> sites, times, bytes, kept;  // bytes and kept: summed over all times
};

struct TallyFile {
  uint64_t magic;
  std::atomic<uint32_t> rows;  // number of complete rows (release store)
  uint32_t reserved;
  std::atomic<uint64_t> left_out;    // times without a free row
  std::atomic<uint64_t> host_bytes;  // the most bytes of pinned memory that offloaded saves had at once
  TallyRow row[kTallyRows];
};

}  // namespace tapelens::policy
