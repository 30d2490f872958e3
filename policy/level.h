// The promises of the levels of rewrites, and the words that select several levels. Shared by the probe, the analyzer,
// the command line and the window; std only.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tapelens::policy {

enum class Level : uint8_t {
  never_read = 0,      // the values cannot reach a gradient
  encoded = 1,         // the same gradients from fewer bytes
  recomputed = 2,      // the same bits, recomputed
  equivalent = 3,      // equal in exact arithmetic; by name only
  shared_forward = 4,  // copy-on-write instead of a copy; by name only
  offloaded = 5,       // the same bits, kept in the memory of the host; by name only
};
// "never read"; "unknown" for an invalid level, which a recording may contain.
std::string_view level_name(int level);

// A word that selects all rewrites up to a level.
struct Preset {
  std::string_view name;
  Level highest;
};
// `recompute` has the rewrites and the promise of `bitwise`, and also repeats costly operators: it costs time.
inline constexpr std::string_view kRecompute = "recompute";
inline constexpr std::array kPresets = {Preset{"lossless", Level::encoded}, Preset{"bitwise", Level::recomputed},
                                        Preset{kRecompute, Level::recomputed}};
inline constexpr int kNone = -1;            // below every level
int highest_level(std::string_view group);  // kNone: unknown group

}  // namespace tapelens::policy
