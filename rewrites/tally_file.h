// The file in which a process of a run counts its rewrites (rewrites/tally.h writes it, cli/tally.h reads it).
// It is mapped when the process begins to rewrite, so that what was counted is there however the process ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tapelens::rewrites {

inline constexpr uint64_t kTallyMagic = 0x31594c4c4154534cULL;  // "LSTALLY1"
inline constexpr size_t kTallyRows = 1000;

// Of one rewrite at one level; of what was skipped, for one reason. Texts end with a zero; longer ones are cut.
struct TallyRow {
  char rewrite[48];
  char reason[160];  // empty: it was applied
  uint32_t level, reserved;
  std::atomic<uint64_t> sites, times, bytes, kept;  // bytes and kept: summed over all times
};

struct TallyFile {
  uint64_t magic;
  std::atomic<uint32_t> rows;  // that are whole (release store)
  uint32_t reserved;
  std::atomic<uint64_t> left_out;  // times that found no row any more
  TallyRow row[kTallyRows];
};

}  // namespace tapelens::rewrites
